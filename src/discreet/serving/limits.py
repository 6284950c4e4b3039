"""What one server bears."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ServerLimits:
    """What one server bears; the defaults suit a machine of two cores and one gigabyte.

    Attributes:
        max_body: Bytes of a device's request.
        max_admin_body: Bytes of an administrator's request.
        max_concurrent: Requests that are worked on at once. The last quarter is kept for ranking and health.
        rate: Requests a second that one address may send for long; 0 for any number.
        burst: How many it may send at once.
        max_reports_of_one: Reports of one address in a day; 0 for any number.
        max_connections: Connections in all; a new one takes the place of the one that has waited longest.
        max_connections_of_one: Connections of one address; those of a trusted proxy are not counted.
        max_head: Bytes of a request besides its body: its headers, and how its chunks are framed.
        max_headers: Headers of a request.
        max_url: Bytes of its address.
        max_pipelined: Requests that wait on one connection while another is answered.
        max_head_seconds: Time in which all headers must come.
        max_silent_seconds: How long a connection may be idle, a body or a reader may make no progress.
        min_bytes_per_second: How fast, beyond that, a body must come and an answer must be read.
        max_unsent: Bytes of answers that wait, in all, for slow readers.
    """

    max_body: int = 256 * 1024
    max_admin_body: int = 8 * 1024 * 1024
    max_concurrent: int = 512
    rate: float = 50.0
    burst: int = 200
    max_reports_of_one: int = 500
    max_connections: int = 2000
    max_connections_of_one: int = 128
    max_head: int = 32 * 1024
    max_headers: int = 100
    max_url: int = 8 * 1024
    max_pipelined: int = 16
    max_head_seconds: float = 10.0
    max_silent_seconds: float = 15.0
    min_bytes_per_second: int = 4096
    max_unsent: int = 256 * 1024 * 1024

    def shared_by(self, workers: int) -> ServerLimits:
        """What each of some workers lets one address do, so that all together let it do what one server would."""
        if workers == 1:
            return self
        return replace(
            self,
            rate=self.rate / workers,
            burst=-(-self.burst // workers),
            max_reports_of_one=-(-self.max_reports_of_one // workers),
            max_connections_of_one=-(-self.max_connections_of_one // workers),
        )
