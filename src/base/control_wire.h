/* control_wire.h - the protocol between `heddle trigger` and a traced program (src/trigger, src/capture/cuda/control.c)
 *
 * The program listens on an abstract stream socket, "heddle-capture-PID" without the leading 0 byte. A connection has
 * one request, a line: "status", "start [MS]", "stop" or "toggle [MS]"; MS: close the capture again after this time.
 * The response is lines "KEY VALUE"; then the program closes the connection. The first line is "heddle-capture 1";
 * "error TEXT" means that nothing was done.
 */
#ifndef HD_BASE_CONTROL_WIRE_H
#define HD_BASE_CONTROL_WIRE_H

#define CONTROL_NAME "heddle-capture-%ld"
#define CONTROL_PREFIX "heddle-capture-"
#define CONTROL_HELLO "heddle-capture 1"

enum { CONTROL_REQUEST_BYTES = 64, CONTROL_ANSWER_BYTES = 8192 };

#endif
