"""Verify each delivery on standard input with the sample at the path in the argument; print the results."""

import base64
import json
import runpy
import sys

sample = runpy.run_path(sys.argv[1])
verdicts = []
for case in json.load(sys.stdin):
    header = None if case["header"] is None else base64.b64decode(case["header"]).decode("latin-1")
    try:
        event = sample["verify"](header, base64.b64decode(case["body"]), case["secret"], case["now"])
        about = event["data"]["object"]
        verdicts.append([event["id"], event["type"], about["reference"], about["amount_details"]["raw"]])
    except sample["InvalidSignature"]:
        verdicts.append("refused")
    except RuntimeError:
        verdicts.append("no secret")
print(json.dumps(verdicts))
