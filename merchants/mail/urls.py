from django.urls import path

from merchants.mail.pages import unsubscribe_page

urlpatterns = [path("notices/<str:token>", unsubscribe_page, name="unsubscribe")]
