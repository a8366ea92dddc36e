"""Requests that mean harm, or are broken: a clear status, a server that serves the next, nothing left behind."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from spanwise.service.receiving import Body, BrokenError, Limits, TooLargeError, inflated
from tests.service.receivers import PROTOBUF, Receivers, resident, running, traces_request

_MB = 1 << 20
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SHORT = Limits(header_s=0.5, body_s=0.5, idle_s=1.0)


@contextlib.contextmanager
def _unharmed(limits: Limits, *, growth_mb: int = 40) -> Iterator[Receivers]:
    """Receivers that serve as before after the block, with no task or connection more, and little more memory."""
    with running(limits=limits) as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        _serve(receivers, channel)
        before, tasks = resident(), receivers.tasks()
        yield receivers
        _serve(receivers, channel)
        assert _comes(lambda: receivers.tasks() <= tasks and receivers.connections() == 0), receivers.tasks()
        assert (0, 0) == (receivers.http_receiver._desk.requests, receivers.grpc_receiver._desk.requests)
        assert (0, 0) == (receivers.http_receiver._desk.bytes, receivers.grpc_receiver._desk.bytes)
        assert resident() - before < growth_mb * _MB


def _serve(receivers: Receivers, channel: grpc.Channel) -> None:
    receivers.collector.batches.clear()
    assert 200 == receivers.post("/v1/traces", traces_request().SerializeToString())[0]
    TraceServiceStub(channel).Export(traces_request(), timeout=10)
    assert 2 == len(receivers.collector.batches)


def _comes(is_true: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    until = time.monotonic() + timeout_s
    while not is_true() and time.monotonic() < until:
        time.sleep(0.05)
    return is_true()


def _code(receivers: Receivers, message: bytes, *, compression: object = None) -> grpc.StatusCode | None:
    """What a message of these bytes is answered with over gRPC."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(receivers.grpc, options=options) as channel:
        try:
            channel.unary_unary(TRACES)(message, timeout=30, compression=compression)
        except grpc.RpcError as error:
            return error.code()
    return None


@pytest.mark.parametrize(
    "body", [b"\x0a\xff\xff\xff\xff\x0f", b"nonsense", b"\x0a\x05\x12", b"\xff" * 5000, b'{"a": 1}']
)
def test_malformed_requests(body: bytes) -> None:
    """What is no OTLP is answered 400 or INVALID_ARGUMENT, which no sender repeats."""
    with _unharmed(Limits()) as receivers:
        assert 400 == receivers.post("/v1/traces", body)[0]
        assert 400 == receivers.post("/v1/traces", body, {"Content-Type": "application/json"})[0]
        assert grpc.StatusCode.INVALID_ARGUMENT == _code(receivers, body)


def test_deeply_nested_json() -> None:
    """JSON that is nested a million times is an error as any other."""
    with _unharmed(Limits()) as receivers:
        for body in (b"[" * 1_000_000, b'{"resourceSpans":' * 200_000, b'{"resourceSpans":[' + b"[" * 1_000_000):
            assert 400 == receivers.post("/v1/traces", body, {"Content-Type": "application/json"})[0]


def test_a_gzip_bomb() -> None:
    """A body that inflates to 512 MB is given up at the limit, whatever the protocol; memory follows the limit only."""
    squeezer = zlib.compressobj(1, wbits=31)
    bomb = b"".join([squeezer.compress(bytes(16 * _MB)) for _ in range(32)] + [squeezer.flush()])
    with _unharmed(Limits(inflated_bytes=16 * _MB), growth_mb=100) as receivers:
        for _ in range(5):
            assert 413 == receivers.post("/v1/traces", bomb, {"Content-Encoding": "gzip"})[0]
            assert grpc.StatusCode.INVALID_ARGUMENT == _code(receivers, bomb)
        assert grpc.StatusCode.INVALID_ARGUMENT == _code(receivers, bytes(17 * _MB), compression=grpc.Compression.Gzip)


def test_a_gzip_of_very_many_parts() -> None:
    """Gzip may have several parts; of very many, each of which says nothing, only the first are looked at."""
    body = gzip.compress(b"") * 500_000

    def refused(receivers: Receivers) -> None:
        begun = time.monotonic()
        assert 400 == receivers.post("/v1/traces", body, {"Content-Encoding": "gzip"})[0]
        assert grpc.StatusCode.INVALID_ARGUMENT == _code(receivers, body)
        assert time.monotonic() - begun < 10

    with running(limits=Limits()) as receivers:
        refused(receivers)  # the sender, which is this process, has now what it needs for that
    with _unharmed(Limits()) as receivers:
        refused(receivers)


def test_100_mb() -> None:
    """A request of 100 MB is answered 413 though its sender listens only when all is sent; none of it is kept."""
    body = bytes(100 * _MB)
    with _unharmed(Limits(), growth_mb=100) as receivers:  # the sender, which is this process, needs some, too
        assert 413 == receivers.post("/v1/traces", body)[0]
        pieces = (body[at : at + _MB] for at in range(0, len(body), _MB))
        assert 413 == receivers.post("/v1/traces", pieces)[0]
        assert grpc.StatusCode.RESOURCE_EXHAUSTED == _code(receivers, body)


def _reads(sock: socket.socket) -> bytes:
    """What comes until the other end closes."""
    parts: list[bytes] = []
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_a_slow_head() -> None:
    """A connection whose request's head comes byte by byte, or not at all, is closed when its time is over."""
    with _unharmed(SHORT) as receivers:
        for head in (b"", b"POST /v1/traces HTTP/1.1\r\nHost: a\r\n"):
            with socket.create_connection(("127.0.0.1", receivers.http_port), 10) as sock:
                sock.sendall(head)
                stop = threading.Event()
                drip = threading.Thread(target=_drip, args=(sock, stop), daemon=True)
                drip.start()
                begun = time.monotonic()
                assert _reads(sock) == b""
                assert 0.3 < time.monotonic() - begun < 5
                stop.set()
                drip.join(5)


def _drip(sock: socket.socket, stop: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not stop.wait(0.1):
            sock.sendall(b"X")


def test_a_slow_body() -> None:
    """A body that does not come in time is answered 408."""
    head = f"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: {PROTOBUF}\r\nContent-Length: 1000\r\n\r\n".encode()
    with _unharmed(SHORT) as receivers, socket.create_connection(("127.0.0.1", receivers.http_port), 20) as sock:
        sock.sendall(head + b"\x0a")
        begun = time.monotonic()
        sock.settimeout(20)
        assert b" 408 " in sock.recv(65536).partition(b"\r\n")[0]
        assert time.monotonic() - begun < 5
        sock.close()


def test_many_slow_connections() -> None:
    """A hundred connections that never end their requests keep nobody out, and are gone when their time is over."""
    with _unharmed(SHORT) as receivers:
        address = ("127.0.0.1", receivers.http_port)
        socks = [socket.create_connection(address, 10) for _ in range(100)]
        for sock in socks:
            sock.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: a\r\nX: ")
        assert 200 == receivers.post("/v1/traces", traces_request().SerializeToString())[0]
        assert _comes(lambda: receivers.connections() == 0)
        for sock in socks:
            sock.close()


def test_more_connections_than_the_limit() -> None:
    """A connection beyond the limit is closed at once; when others have ended, there is room again."""
    with _unharmed(Limits(connections=3, header_s=5)) as receivers:
        address = ("127.0.0.1", receivers.http_port)
        socks = [socket.create_connection(address, 10) for _ in range(3)]
        assert _comes(lambda: receivers.connections() == 3)
        with socket.create_connection(address, 10) as one_more:
            assert _reads(one_more) == b""
        for sock in socks:
            sock.close()
        assert _comes(lambda: receivers.connections() == 0)


def test_senders_that_hang_up() -> None:
    """A sender that closes, or half closes, in the middle of its request costs nothing but itself."""
    body = traces_request(50).SerializeToString()
    head = f"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: {PROTOBUF}\r\nContent-Length: {len(body)}\r\n\r\n"
    whole = head.encode() + body
    with _unharmed(Limits(body_s=2, header_s=2)) as receivers:
        for size in (1, 30, len(head) - 1, len(head) + 10, len(whole) - 1):
            for how in ("close", "half", "reset"):
                with socket.create_connection(("127.0.0.1", receivers.http_port), 10) as sock:
                    sock.sendall(whole[:size])
                    if how == "half":
                        sock.shutdown(socket.SHUT_WR)
                        _reads(sock)
                    elif how == "reset":
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert not receivers.collector.batches[2:]


def test_a_stream_that_says_nothing() -> None:
    """A gRPC stream that is opened and sends no message, or half closes without one, ends with a status."""
    with _unharmed(SHORT) as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        gate = threading.Event()

        def nothing() -> Iterator[bytes]:
            gate.wait(20)
            yield from ()

        call = channel.stream_unary(TRACES).future(nothing(), timeout=20)
        assert grpc.StatusCode.DEADLINE_EXCEEDED == call.exception(20).code()
        assert "took longer" in call.exception().details()
        gate.set()
        empty = channel.stream_unary(TRACES).future(iter(()), timeout=20)
        assert grpc.StatusCode.INVALID_ARGUMENT == empty.exception(20).code()


def test_calls_that_are_cancelled() -> None:
    """A gRPC sender that gives up, or whose connection is cut, in the middle of a call leaves nothing behind."""
    with _unharmed(Limits(body_s=5)) as receivers:
        receivers.collector.hold_s = 0.5
        for _ in range(20):
            channel = grpc.insecure_channel(receivers.grpc, options=[("grpc.use_local_subchannel_pool", 1)])
            call = TraceServiceStub(channel).Export.future(traces_request(50), timeout=10)
            time.sleep(0.02)
            call.cancel()
            channel.close()
        receivers.collector.hold_s = 0.0
        assert _comes(lambda: receivers.grpc_receiver._desk.requests == 0)


@pytest.mark.parametrize(
    "junk",
    [
        b"\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 200,
    ],
    ids=["zeros", "version", "TLS", "frames"],
)
def test_junk_on_the_wire(junk: bytes) -> None:
    """Bytes that are no HTTP, or no HTTP/2, end their connection only."""
    with _unharmed(SHORT) as receivers:
        for address in (receivers.http, receivers.grpc):
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 10) as sock:
                sock.sendall(junk)
                sock.shutdown(socket.SHUT_WR)
                _reads(sock)


def test_the_head_is_bounded() -> None:
    """Headers of a megabyte are refused by either server."""
    with _unharmed(Limits()) as receivers:
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            assert 400 <= receivers.post("/v1/traces", b"", {"X": "y" * _MB})[0] < 500
        with grpc.insecure_channel(receivers.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
            TraceServiceStub(channel).Export(traces_request(), timeout=10, metadata=(("x", "y" * 65536),))
        assert grpc.StatusCode.RESOURCE_EXHAUSTED == caught.value.code()


@pytest.mark.parametrize("size", [0, 1, 1000, _MB - 1, _MB, _MB + 1, 3 * _MB])
@pytest.mark.parametrize("piece", [1 << 16, 7])
def test_inflating_in_pieces(size: int, piece: int) -> None:
    """However a compressed body is cut, and however many parts it has, what comes out is what went in."""
    content = bytes(size)
    packed = gzip.compress(content[: size // 3]) + gzip.compress(content[size // 3 :]) + b"\0\0"
    body = Body(Limits(), compressed=31)
    for at in range(0, len(packed), piece):
        body.add(packed[at : at + piece])
    assert content == body.whole()
    assert content == inflated(gzip.compress(content), Limits()) == inflated(zlib.compress(content), Limits())


def test_inflating_what_is_broken() -> None:
    """Compressed bytes that are cut, changed or too many are told as what they are."""
    packed = gzip.compress(bytes(1000))
    with pytest.raises(BrokenError, match="ends in the middle"):
        inflated(packed[:-1], Limits())
    with pytest.raises(BrokenError, match="broken"):
        inflated(packed[:-6] + b"\xff\xff" + packed[-4:], Limits())
    with pytest.raises(TooLargeError, match="999 bytes"):
        inflated(packed, Limits(inflated_bytes=999))
    with pytest.raises(TooLargeError, match="compressed body is larger than 10"):
        inflated(packed, Limits(sent_bytes=10))
    with pytest.raises(TooLargeError):
        inflated(bytes(1000), Limits(inflated_bytes=999))
