from django.urls import path

from checkout.api.refund_building import RefundBuildViewSet
from checkout.api.views import CheckoutViewSet
from checkout.api.wallet_views import WalletViewSet
from checkout.deposits.form import request_address
from checkout.links.page import link_logo, link_page
from checkout.pages.by_hand import by_hand_page, submit_by_hand
from checkout.pages.by_hand_proof import (
    proof_page,
    request_proof,
    submit_hash_after_proof,
    transfer_proof_page,
)
from checkout.pages.claim import choose_address, claim_page, sign_page
from checkout.pages.favicon import favicon
from checkout.pages.front import front_page
from checkout.pages.logos import logo, token_logo
from checkout.pages.pay import pay_page
from checkout.pages.receipt import receipt_page
from checkout.pages.refund_lines import refund_list
from checkout.pages.shop_script import shop_script
from checkout.receipts.form import mail_receipt
from config.api.limits.public_limits import never_refused

checkout = CheckoutViewSet
wallet = WalletViewSet

urlpatterns = [
    path("api/public/payment-requests/<str:id>", checkout.as_view({"get": "retrieve"}), name="checkout"),
    path("api/public/payment-requests/<str:id>/events", checkout.as_view({"get": "events"}), name="events"),
    path("api/public/payment-requests/<str:id>/routes", checkout.as_view({"post": "routes"}), name="routes"),
    path(
        "api/public/payment-requests/<str:id>/payments",
        never_refused(checkout.as_view({"post": "submit"})),
        name="submit-payment",
    ),
    path(
        "api/public/payment-requests/<str:id>/payments/<str:payment_id>/proof-message",
        checkout.as_view({"post": "proof_message"}),
        name="proof-message",
    ),
    path(
        "api/public/payment-requests/<str:id>/deposit-address",
        checkout.as_view({"post": "deposit_address"}),
        name="deposit-address",
    ),
    path(
        "api/public/payment-requests/<str:id>/authorizations",
        checkout.as_view({"post": "authorize"}),
        name="authorizations",
    ),
    path(
        "api/public/payment-requests/<str:id>/payer-proof",
        checkout.as_view({"post": "prove"}),
        name="payer-proof",
    ),
    path(
        "api/public/payment-requests/<str:id>/balances/essential",
        wallet.as_view({"post": "essential"}),
        name="essential-balances",
    ),
    path("api/public/discover-wallet-tokens", wallet.as_view({"post": "discover"}), name="wallet-tokens"),
    path("api/public/check-approval", wallet.as_view({"post": "approval"}), name="check-approval"),
    path("api/public/build-transaction", checkout.as_view({"post": "build"}), name="build-transaction"),
    path(
        "api/refunds/<str:id>/build",
        RefundBuildViewSet.as_view({"post": "build"}),
        name="build-refund",
    ),
    path("", front_page, name="front"),
    path("favicon.ico", favicon, name="favicon"),
    path("quittance.js", shop_script, name="shop-script"),
    path("pay/<str:shortcode>", pay_page, name="pay"),
    path("l/<str:code>", link_page, name="payment-link-page"),
    path("l/<str:code>/logo", link_logo, name="link-logo"),
    path("logos/<int:chain_id>/<str:address>", token_logo, name="token-logo"),
    path("pay/<str:shortcode>/logo", logo, name="logo"),
    path("pay/<str:shortcode>/by-address", request_address, name="by-address"),
    path("pay/<str:shortcode>/by-hand", by_hand_page, name="by-hand"),
    path("pay/<str:shortcode>/by-hand/sent", never_refused(submit_by_hand), name="by-hand-sent"),
    path("pay/<str:shortcode>/by-hand/proof", request_proof, name="by-hand-ask"),
    path("pay/<str:shortcode>/by-hand/proof/<str:route_id>", proof_page, name="by-hand-proof"),
    path(
        "pay/<str:shortcode>/by-hand/proof/<str:route_id>/sent",
        never_refused(submit_hash_after_proof),
        name="by-hand-proof-sent",
    ),
    path("pay/<str:shortcode>/sent/<str:payment_id>", transfer_proof_page, name="prove-transfer"),
    path("refunds/<str:code>", claim_page, name="claim"),
    path("refunds/<str:code>/address", choose_address, name="claim-address"),
    path("refunds/<str:code>/sign/<str:choice>", sign_page, name="claim-sign"),
    path("pay/<str:shortcode>/receipt", receipt_page, name="receipt"),
    path("pay/<str:shortcode>/receipt/mail", mail_receipt, name="mail-receipt"),
    path("pay/<str:shortcode>/refunds", refund_list, name="refund-list"),
]
