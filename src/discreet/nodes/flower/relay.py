"""A relay that stays: it takes every message of its SuperNode to the host, and runs no code that the server sends.

Flower's SuperNode by itself unpacks the app that comes with a run and starts a new process of it for every message.
That costs two seconds of computing a message, and, worse, lets the server run whatever it likes next to the node's
data. With `--isolation process` the SuperNode leaves this to others: to this relay, which answers with its own
ClientApp (`app.client`) and never looks at the one that was sent.
"""

from __future__ import annotations

import logging
import time
from threading import Event, Thread

import httpx
from flwr.app import Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supercore.run import RunNotRunningException
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from discreet.nodes.flower.flower_app import client

_BETWEEN_LOOKS = 0.2
_BETWEEN_HEARTBEATS = 10.0
_log = logging.getLogger(__name__)


def relay(supernode: str) -> None:
    """Relay for the SuperNode whose Runtime API listens at this address, for ever."""
    with _connect(supernode, RuntimeVersionHttpInterceptor(component_name="SuperExec")) as runtime:
        while True:
            try:
                task = runtime.AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP]))
            except httpx.HTTPError:  # the SuperNode is not there yet, or no longer
                time.sleep(1.0)
                continue
            if task.HasField("task") and task.token:
                Thread(target=_answer_or_give_up, args=(supernode, task.token), daemon=True).start()
            time.sleep(_BETWEEN_LOOKS)


def _answer_or_give_up(supernode: str, token: str) -> None:
    """Answer in a thread of its own.

    A message that was on its way when its run was killed never arrives whole, but Flower waits for the rest of it: the
    messages of the next run must not wait behind it.
    """
    try:
        _answer(supernode, token)
    except Exception as error:  # whatever has happened, the next message is taken
        _log.warning("a message was lost: %s", error)


def _answer(supernode: str, token: str) -> None:
    """Take one message to the host, and its answer, or an error, back.

    The SuperNode waits until there is a reply. If even an error cannot be given, the task is not declared to be over,
    so that Flower gives it up a minute later.
    """
    version = RuntimeVersionHttpInterceptor(component_name="flwr-clientapp")
    with _connect(supernode, version, RuntimeTokenHttpInterceptor(token)) as runtime, _Heartbeat(runtime):
        message, context, _, _ = pull_task_input(runtime)
        status, details = SubStatus.COMPLETED, ""
        try:
            reply = client(message, context)
        except Exception as error:
            _log.warning("no answer: %s", error)
            status, details = SubStatus.FAILED, type(error).__name__
            reply = Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, details), reply_to=message)
        push_message(runtime, reply, context)
        push_task_output(runtime, context, status, details)


def _connect(supernode: str, *interceptors: ProtobufClientInterceptor) -> RuntimeHttpClient:
    return RuntimeHttpClient.from_server_address(supernode, True, None, interceptors)


class _Heartbeat:
    """Tells the SuperNode now and then that the message is still being answered."""

    def __init__(self, runtime: RuntimeHttpClient) -> None:
        self._runtime = runtime
        self._over = Event()
        self._thread = Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(_BETWEEN_HEARTBEATS):
            try:
                self._runtime.SendTaskHeartbeat(SendTaskHeartbeatRequest())
            except (httpx.HTTPError, RunNotRunningException) as error:
                _log.warning("a heartbeat was lost: %s", error)
