// Paths and views. A view is a function `(choices) => {title, node, update?, close?}`; `choices` is the query of the URL.
// It holds every choice, so that a reload, a bookmark and a sign-in lead back to the same view.

/** Shows views in `place` by the path of the URL. */
export class Router {
  #place;
  #find;
  #shown = { path: null, view: null };

  constructor(place, find) {
    this.#place = place;
    this.#find = find;
    addEventListener('popstate', () => this.show());
    document.addEventListener('click', (event) => this.#followed(event));
  }

  /** Goes to a path of the app. */
  go(address) {
    history.pushState(null, '', address);
    this.show();
    scrollTo(0, 0);
  }

  /** Goes there and replaces the current history entry. */
  replace(address) {
    history.replaceState(null, '', address);
    this.show();
  }

  /** Shows the view of the URL; `afresh` builds it anew even if it is the current one. */
  show({ afresh = false } = {}) {
    const { pathname: path, search } = location;
    const choices = new URLSearchParams(search);
    if (path === this.#shown.path && !afresh && this.#shown.view?.update) {
      this.#shown.view.update(choices);
      return;
    }
    this.#shown.view?.close?.();
    const isFirst = this.#shown.path === null || afresh;
    const view = this.#find(path)(choices);
    this.#shown = { path, view };
    document.title = view.title === 'Demo shop' ? view.title : `${view.title} · Demo shop`;
    this.#place.replaceChildren(view.node);
    for (const link of document.querySelectorAll('#places a')) {
      if (link.pathname === path) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    // Screen readers start at the heading of the new page.
    if (!isFirst) this.#place.focus({ preventScroll: true });
  }

  /** Clears the view, so that nothing of it is left for the next visitor. */
  clear() {
    this.#shown.view?.close?.();
    this.#shown = { path: null, view: null };
    this.#place.replaceChildren();
  }

  /** A link to a path of the app loads no new page. */
  #followed(event) {
    const link = event.target.closest('a[href]');
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.origin !== location.origin || link.target || !link.hasAttribute('data-app')) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}
