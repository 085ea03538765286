/* recorder.h - collectives as PyTorch's flight recorder has them, and what each rank did last
 *
 * In: a trace. Out: its entries, in their order. They are no GPU activities: a watchdog thread notices, up to a second
 * late, that a collective started or is complete.
 */
#ifndef HD_MODEL_RECORDER_RECORDER_H
#define HD_MODEL_RECORDER_RECORDER_H

#define HD_FLIGHT_CATEGORY "flight_recorder" /* of the slices */

#endif
