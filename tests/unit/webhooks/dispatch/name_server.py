"""A test name server over real UDP, and a resolver that uses it. It can respond like one of a hostile owner."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import dns.flags
import dns.message
import dns.rdatatype
import dns.resolver
import dns.rrset

Records = dict[str, list[str]]


@dataclass
class NameServer:
    """`answers` has the records for each query of a name, in order. The last ones are repeated."""

    port: int
    answers: dict[str, list[Records]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def say(self, name: str, *in_turn: Records) -> str:
        """Set the records of `name`, such as {"A": […], "AAAA": […], "CNAME": […]}, for its queries in turn;
        return the name.
        """
        self.answers[name] = list(in_turn)
        return name

    def resolve(self, host: str) -> list[str]:
        """Query this server as an operating system does: once for A and once for AAAA. Raises OSError."""
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers = ["127.0.0.1"]
        resolver.port = self.port
        resolver.lifetime = 5
        found: list[str] = []
        for kind in ("A", "AAAA"):
            answer = resolver.resolve(host, kind, raise_on_no_answer=False)
            found += [record.to_text() for record in answer]
        if not found:
            raise OSError("no address")
        return found

    def reply(self, question: bytes) -> bytes:
        query = dns.message.from_wire(question)
        reply = dns.message.make_response(query)
        reply.flags |= dns.flags.AA
        (asked,) = query.question
        name, kind = asked.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(asked.rdtype)
        self.asked.append((name, kind))
        self._add(reply, name, kind)
        return reply.to_wire()

    def _add(self, reply: dns.message.Message, name: str, kind: str) -> None:
        in_turn = self.answers.get(name, [{}])
        records = in_turn[0]
        if kind == "AAAA" and len(in_turn) > 1:
            in_turn.pop(0)
        for target in records.get("CNAME", []):
            reply.answer.append(dns.rrset.from_text(name + ".", 0, "IN", "CNAME", target + "."))
            self._add(reply, target, kind)
        if texts := records.get(kind, []):
            reply.answer.append(dns.rrset.from_text(name + ".", 0, "IN", kind, *texts))


@contextmanager
def running_name_server() -> Iterator[NameServer]:
    """Run a name server on a free port of the loopback interface."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    server = NameServer(listener.getsockname()[1])
    stopped = threading.Event()

    def serve(reply: Callable[[bytes], bytes]) -> None:
        while not stopped.is_set():
            question, asker = listener.recvfrom(4096)
            if question:
                listener.sendto(reply(question), asker)

    thread = threading.Thread(target=serve, args=(server.reply,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        stopped.set()
        listener.sendto(b"", listener.getsockname())
        thread.join()
        listener.close()
