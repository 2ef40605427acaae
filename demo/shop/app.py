"""The shop's pages and its webhook endpoint."""

import logging
import time
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, abort, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from demo.shop import webhook
from demo.shop.goods import GOODS, Good
from demo.shop.orders import Order, Orders
from demo.shop.quittance import Quittance, QuittanceError, Token

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'{checkout}; frame-src{checkout}; style-src 'self'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
WEBHOOK_PATH = "/webhooks/quittance"

log = logging.getLogger(__name__)


def create_app(
    *,
    quittance: Quittance,
    orders: Orders,
    token: Token,
    kiosk_token: Token | None,
    recipient: str,
    webhook_secret: str,
    url: str,
) -> Flask:
    """Create the shop.

    The shop is at `url`. Customers pay `token` to `recipient`. The kiosk's goods are paid in `kiosk_token`, if it is
    set.
    """
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = 256 * 1024

    def paid_in(good: Good) -> Token:
        return kiosk_token if good.at_kiosk and kiosk_token else token

    def priced_in(good: Good) -> str:
        return good.currency or paid_in(good).symbol

    def payment_page(order: Order) -> str:
        if order.payment_url:
            return order.payment_url
        order_url = f"{url}/orders/{order.id}"
        good = GOODS[order.good]
        created = quittance.create_payment_request(
            {
                **_asked(order, good),
                "token_id": paid_in(good).id,
                "chain_id": paid_in(good).chain_id,
                "recipient_address": recipient,
                "external_id": order.id,
                "description": f"{good.name}, {good.unit}",
                "redirect_url": order_url,
                "cancel_url": order_url,
            },
            idempotency_key=order.id,
        )
        orders.keep_payment_request(order.id, created["id"], created["payment_url"])
        return str(created["payment_url"])

    def find_order(number: str) -> Order:
        try:
            return orders[number]
        except KeyError:
            abort(404)

    def is_confirming(order: Order) -> bool:
        """Return whether Quittance has seen the payment.

        The result only changes the page's text, because only the webhook marks an order as paid.
        """
        if order.status != "awaiting" or not order.payment_request:
            return False
        try:
            seen = quittance.get_payment_request(order.payment_request)
        except QuittanceError:
            return False
        states = {payment["status"] for payment in seen.get("payments", [])}
        return seen["status"] == "completed" or bool(states & {"pending", "processing"})

    @app.get("/")
    def index() -> str:
        return render_template("index.html", goods=GOODS.values())

    @app.post("/orders")
    def place_order() -> AnyResponse:
        good = GOODS.get(request.form.get("good", ""))
        if good is None:
            abort(404)
        return pay(orders.open(good).id)

    @app.post("/orders/<number>/pay")
    def pay(number: str) -> AnyResponse:
        order = find_order(number)
        if order.status != "awaiting":
            return redirect(url_for("show_order", number=number), code=303)
        try:
            page = payment_page(order)
            if "here" in request.form:
                return redirect(url_for("show_order", number=number, here=1), code=303)
            return redirect(page, code=303)
        except QuittanceError as error:
            log.error("Order %s has no payment page: %s", number, error)
            return redirect(url_for("show_order", number=number, unavailable=1), code=303)

    @app.get("/orders")
    def list_orders() -> str:
        return render_template("orders.html", orders=orders.latest(20), goods=GOODS)

    @app.get("/orders/<number>")
    def show_order(number: str) -> str:
        # The checkout adds payment_request_id and status to this URL. Everyone can change them, so they are not read.
        order = find_order(number)
        confirming = is_confirming(order)
        if order.status == "awaiting" and order.payment_url and not confirming:
            g.checkout = _origin(order.payment_url)
        return render_template(
            "order.html",
            order=order,
            good=GOODS[order.good],
            confirming=confirming,
            checkout=g.get("checkout"),
            opens="here" in request.args,
            unavailable="unavailable" in request.args,
        )

    @app.get("/orders/<number>/status")
    def order_status(number: str) -> dict[str, str]:
        order = find_order(number)
        return {"status": order.status, "problem": order.problem}

    @app.post(WEBHOOK_PATH)
    def receive_webhook() -> tuple[str, int]:
        header = request.headers.get("Service-Signature", "")
        try:
            event = webhook.verify(header, request.get_data(), webhook_secret, now=time.time())
        except webhook.SignatureError as error:
            log.warning("Refused a webhook: %s", error)
            return "invalid signature\n", 400
        if request.headers.get("Service-Event-Id") != event.id:
            return "Service-Event-Id is not the signed event's\n", 400
        is_new = orders.apply(event)
        log.info("%s %s%s", event.type, event.id, "" if is_new else " (seen before)")
        return "ok\n", 200

    @app.get("/healthz")
    def healthz() -> str:
        return "ok\n"

    @app.errorhandler(404)
    def not_found(_: Exception) -> tuple[str, int]:
        return render_template("not_found.html"), 404

    @app.after_request
    def harden(response: Response) -> Response:
        checkout = f" {g.checkout}" if "checkout" in g else ""
        policy = CONTENT_SECURITY_POLICY.format(checkout=checkout)
        response.headers["Content-Security-Policy"] = policy.replace("frame-src;", "frame-src 'none';")
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        if request.endpoint != "static":
            response.headers["Cache-Control"] = "no-store"
        return response

    @app.template_filter()
    def day_and_time(moment: str) -> str:
        return datetime.fromisoformat(moment).strftime("%-d %B %Y, %H:%M UTC")

    @app.context_processor
    def shop() -> dict[str, Any]:
        return {"paid_in": paid_in, "priced_in": priced_in, "home_chain": token.chain_id}

    return app


def _asked(order: Order, good: Good) -> dict[str, Any]:
    """Return the payment request's field for the amount: `amount`, or a `price` that Quittance converts."""
    if good.currency:
        return {"price": {"currency": good.currency, "amount": order.amount}}
    return {"amount": order.amount}


def _origin(address: str) -> str:
    """Return the origin of the payment page. The shop's pages use only this origin and their own."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
