"""DAP (draft-ietf-ppm-dap, dap-18): the protocol around Prio3, from a client's upload to the collector's result."""
