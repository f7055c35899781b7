// Lets people see a password while they type it. The buttons stay hidden without this script.

const buttons = [...document.querySelectorAll('button[data-input]')];
const announced = document.createElement('p');
announced.className = 'unseen';
announced.setAttribute('aria-live', 'polite');
document.body.append(announced);

function show(button, shown) {
  const what = button.dataset.what;
  document.getElementById(button.dataset.input).type = shown ? 'text' : 'password';
  button.textContent = shown ? 'Hide' : 'Show';
  button.setAttribute('aria-label', `${button.textContent} ${what}`);
}

for (const button of buttons) {
  const input = document.getElementById(button.dataset.input);
  button.hidden = false;
  button.addEventListener('click', () => {
    const shown = input.type === 'password';
    show(button, shown);
    announced.textContent = `Your ${button.dataset.what} is ${shown ? 'shown' : 'hidden'}.`;
  });
  // Browsers offer the values of text inputs again; a password must not be among them.
  input.form.addEventListener('submit', () => show(button, false));
}

addEventListener('pagehide', () => buttons.forEach((button) => show(button, false)));
