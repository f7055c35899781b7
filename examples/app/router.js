// Addresses and views. A view is a function `(choices) => {title, node, update?, close?}`; `choices` is the query of the
// address, which holds everything that somebody chose, so that a reload, a bookmark and signing in lead back to it.

/** Shows views in `place` by the path of the address. */
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

  /** Goes to an address of the app. */
  go(address) {
    history.pushState(null, '', address);
    this.show();
    scrollTo(0, 0);
  }

  /** Goes there without a step that could be taken back. */
  replace(address) {
    history.replaceState(null, '', address);
    this.show();
  }

  /** Shows what the address says; `afresh` builds the view anew although it is the same one. */
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
    // Whoever reads with their ears starts where the new page starts.
    if (!isFirst) this.#place.focus({ preventScroll: true });
  }

  /** Takes away what is shown, so that nothing of it is left for whoever comes next. */
  clear() {
    this.#shown.view?.close?.();
    this.#shown = { path: null, view: null };
    this.#place.replaceChildren();
  }

  /** A link to one of our own addresses needs no new page. */
  #followed(event) {
    const link = event.target.closest('a[href]');
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.origin !== location.origin || link.target || !link.hasAttribute('data-app')) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}
