/* device_rows.h - makes sure that a track of GPU activities belongs to one device
 *
 * In: a builder with all of its events. Out: the same, except that of activities of several devices on one (pid, tid)
 * those of the first device stay, and those of each other device move to a track of their own, with the flow points
 * bound to them.
 */
#ifndef HD_FORMAT_DEVICE_ROWS_H
#define HD_FORMAT_DEVICE_ROWS_H

#include "heddle/builder.h"

/* The ledger notes how many slices moved (HD_DEVICES_ON_ROW). Errors: IO, MEMORY. */
hd_status hd_device_rows_split(hd_builder *builder, hd_error *err);

#endif
