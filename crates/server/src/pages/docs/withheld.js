// What a person reads about resources that they do not see: a line beside the others, or a page in place of all of them.

import { counted, element } from './dom.js';

/** A line about the resources that the caller does not see; null if there are none. */
export function withheldLine({ withheld }, session) {
  if (withheld === 0) return null;
  const more = `${counted(withheld, 'more resource', 'more resources')} ${withheld === 1 ? 'needs' : 'need'} a permission`;
  if (session.isSignedIn || !session.canSignIn) return element('p', { class: 'withheld' }, `${more}${session.isSignedIn ? ' that this account lacks' : ''}.`);
  return element('p', { class: 'withheld' }, `${more}. `, signInLink(session));
}

/** A button that reads as a link; null where nobody can sign in. */
export function signInLink(session, words = 'Sign in') {
  if (session.isSignedIn || !session.canSignIn) return null;
  return element('button', { type: 'button', class: 'link', onclick: () => session.signIn() }, words);
}

/** Shown if the caller may see no resource: says why, and what to do. */
export function nothing({ withheld }, { session, name }) {
  if (withheld === 0) return noneDeclared();
  const are = `${counted(withheld, 'resource')} ${withheld === 1 ? 'needs' : 'need'} a permission`;
  if (session.isSignedIn) {
    const how = element('p', {}, 'An administrator adds permissions to roles:');
    return empty('Nothing to see yet', `You are signed in as ${name}, and ${are} that this account lacks.`, how, element('pre', {}, 'peristyle role update --name ROLE --add-permission PERMISSION'));
  }
  if (session.canSignIn) {
    return empty('Sign in to see resources', `Sign in: ${are}.`, element('p', {}, element('button', { type: 'button', class: 'primary', onclick: () => session.signIn() }, 'Sign in')));
  }
  if (session.kind === 'elsewhere') {
    return empty('A token is needed', `${are}. The hub signs people in at the app of this server, so this page takes the token of a program: open the menu at the top right.`);
  }
  return empty('Nothing to see', `${are}. Under OAUTH_STRATEGY=none nobody has permissions: choose another strategy, or remove the permission from the manifest.`);
}

function noneDeclared() {
  const commands = element('pre', {}, 'peristyle introspect\nperistyle check\nperistyle serve');
  return empty('No resources', 'The manifest declares none.', element('p', {}, 'A manifest is made from a database you have:'), commands);
}

function empty(title, lead, ...more) {
  return element('div', { class: 'empty' }, element('h1', {}, title), element('p', { class: 'lead' }, lead), more);
}
