/* control_wire.h - what `heddle trigger` and a traced program say to each other (src/trigger,
 * src/capture/cuda/control.c)
 *
 * The program listens on an abstract stream socket, "heddle-capture-PID" without the leading 0 byte. One request on a
 * connection, a line: "status", "start [MS]", "stop" or "toggle [MS]"; MS: close again after so long. The answer is
 * lines "KEY VALUE", then it closes. The first line is "heddle-capture 1"; "error TEXT" means that nothing was done.
 */
#ifndef HD_BASE_CONTROL_WIRE_H
#define HD_BASE_CONTROL_WIRE_H

#define CONTROL_NAME "heddle-capture-%ld"
#define CONTROL_PREFIX "heddle-capture-"
#define CONTROL_HELLO "heddle-capture 1"

enum { CONTROL_REQUEST_BYTES = 64, CONTROL_ANSWER_BYTES = 8192 };

#endif
