// Show the order as the shop has it, which knows it from the signed webhook. What the checkout over this page
// tells is no proof of anything: it only says when to look, and when it would be rude to change the page.
const order = document.querySelector("[data-status-url]");
const { status, problem, statusUrl } = order.dataset;
const payHere = document.getElementById("pay-here");
let isPaying = false;

const show = () => location.replace(location.pathname);

async function look() {
  if (!document.hidden && !isPaying) {
    try {
      const now = await (await fetch(statusUrl)).json();
      if (now.status !== status || now.problem !== problem) return show();
    } catch {
      // The shop is away for a moment: ask again.
    }
  }
  setTimeout(look, 2000);
}

// Without the script the link leads to the checkout's own page.
function openCheckout(event) {
  if (!window.Quittance) return;
  event?.preventDefault();
  isPaying = true;
  Quittance.open({
    paymentUrl: payHere.href,
    onCompleted: () => setTimeout(() => (isPaying = false), 2500), // time to read that it is complete
    onClosed: (progress) => {
      isPaying = false;
      if (progress?.status === "processing") show(); // in words that the shop chooses by a look of its own
    },
  });
}

payHere?.addEventListener("click", openCheckout);
if (payHere && "opens" in payHere.dataset) {
  history.replaceState(null, "", location.pathname); // a reload opens nothing
  openCheckout();
}
setTimeout(look, 1000);
