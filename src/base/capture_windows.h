/* capture_windows.h - how a capture declares when it was open: slices on a thread that no system has
 *
 * A capture with windows (docs/windows.md) has a slice for each, of this category on a thread of this number. Time of
 * the process outside of them was not recorded. A capture that was open throughout has none; of a capture of the last
 * events alone, the reader adds one.
 */
#ifndef HD_BASE_CAPTURE_WINDOWS_H
#define HD_BASE_CAPTURE_WINDOWS_H

#define HD_CAPTURE_WINDOWS_TID 1999999999
#define HD_CAPTURE_WINDOWS_TID_TEXT "1999999999"
#define HD_CAPTURE_WINDOWS_CATEGORY "capture"
#define HD_CAPTURE_WINDOWS_NAME "capture windows" /* of the thread */

#endif
