// Look every two seconds whether the order has changed, while the page is in view; then show it anew.
const order = document.querySelector("[data-status-url]");
const { status, problem, statusUrl } = order.dataset;

async function look() {
  if (!document.hidden) {
    try {
      const now = await (await fetch(statusUrl)).json();
      if (now.status !== status || now.problem !== problem) return location.replace(location.pathname);
    } catch {
      // The shop is away for a moment: ask again.
    }
  }
  setTimeout(look, 2000);
}

setTimeout(look, 1000);
