"""The health check of the image: checks that `web` responds on this machine. The request has an allowed host name."""

import os
import urllib.request
from urllib.parse import urlsplit

port = os.environ.get("PORT", "8000")
host = urlsplit(os.environ["BASE_URL"]).netloc
request = urllib.request.Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": host})
urllib.request.urlopen(request, timeout=4).close()
