"""The Kubernetes manifests route with the Gateway API, expose nothing private, and probe each process."""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from tests.unit.deploy.test_files import OBJECTS, PODS


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [each for each in OBJECTS if each["kind"] == kind]


def policy(name: str) -> dict[str, Any]:
    (found,) = [each["spec"] for each in of_kind("NetworkPolicy") if each["metadata"]["name"] == name]
    return dict(found)


def backends(path: str) -> list[str]:
    """Return the services to which the route's rules send a path, the first match first."""
    (route,) = [each["spec"] for each in of_kind("HTTPRoute") if each["metadata"]["name"] == "quittance"]
    names = []
    for rule in route["rules"]:
        (match,) = (each["path"] for each in rule["matches"])
        is_regular = match["type"] == "RegularExpression"
        if re.fullmatch(match["value"], path) if is_regular else path.startswith(match["value"]):
            names += [backend["name"] for backend in rule["backendRefs"]]
    return names


def test_routes_need_no_retired_controller() -> None:
    assert not of_kind("Ingress")
    (gateway,) = of_kind("Gateway")
    sections = {listener["name"] for listener in gateway["spec"]["listeners"]}
    for route in of_kind("HTTPRoute"):
        assert route["apiVersion"] == "gateway.networking.k8s.io/v1"
        (parent,) = route["spec"]["parentRefs"]
        assert (parent["name"], parent["sectionName"] in sections) == (gateway["metadata"]["name"], True)


def test_each_route_leads_to_a_port_of_its_service() -> None:
    ports = {
        each["metadata"]["name"]: {port["port"] for port in each["spec"]["ports"]}
        for each in of_kind("Service")
    }
    rules = [rule for route in of_kind("HTTPRoute") for rule in route["spec"]["rules"]]
    targets = [backend for rule in rules for backend in rule.get("backendRefs", [])]
    assert {target["name"] for target in targets} == {"web", "events"}
    assert all(target["port"] in ports[target["name"]] for target in targets)


def test_streams_go_to_events_and_the_rest_to_web() -> None:
    assert backends("/api/public/payment-requests/01a1fd92/events")[0] == "events"
    for path in ("/", "/api/public/payment-requests/01a1fd92", "/api/events", "/pay/x/events"):
        assert backends(path) == ["web"], path


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "10.1.2.3", "172.20.0.1", "192.168.1.1", "100.64.1.1", "127.0.0.1", "fd00::1"],
)
def test_private_addresses_are_out_of_reach(address: str) -> None:
    (rule,) = policy("out-to-the-internet")["egress"]
    for block in (each["ipBlock"] for each in rule["to"]):
        network = ip_network(block["cidr"])
        excepted = [ip_network(each) for each in block.get("except", [])]
        assert ip_address(address) not in network or any(ip_address(address) in each for each in excepted)


def test_only_web_and_worker_reach_the_internet() -> None:
    (expression,) = policy("out-to-the-internet")["podSelector"]["matchExpressions"]
    assert (expression["operator"], set(expression["values"])) == ("In", {"web", "worker"})
    stores = policy("out-to-stores")
    assert stores["podSelector"] == {"matchLabels": {"app": "quittance"}}
    assert {port["port"] for rule in stores["egress"] for port in rule["ports"]} == {53, 5432, 6379}


@pytest.mark.parametrize("process", sorted(PODS.keys() - {"release"}))
def test_a_process_that_hangs_is_restarted(process: str) -> None:
    (container,) = PODS[process]["containers"]
    probe = container["livenessProbe"]
    if process == "beat":
        (schedule,) = re.findall(r"--schedule /tmp/(\S+)", " ".join(container["command"]))
        assert f'"{schedule}*"' in probe["exec"]["command"][-1]
    else:
        port = probe["httpGet"]["port"]
        assert probe["httpGet"]["path"] == "/healthz"
        assert port in {each["name"] for each in container["ports"]}
