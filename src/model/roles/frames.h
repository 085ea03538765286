/* frames.h - the names of a stack's frames: file, line and function in them, and whose code a frame is
 *
 * Producers write them in three ways: Kineto "train/loop.py(88): train_step", symbolizers, PyTorch's memory snapshots
 * and its flight recorder "train_step (train/loop.py:88)", XLA "train/loop.py:88:2".
 */
#ifndef HD_MODEL_ROLES_FRAMES_H
#define HD_MODEL_ROLES_FRAMES_H

#include "heddle/trace.h"

typedef struct hd_frame_place {
    hd_string file, function; /* parts of the name; function empty: unknown */
    int64_t line;
} hd_frame_place;

/* false: the name has no file with a line. */
bool hd_frame_place_of(hd_frame_place *out, hd_string name);

typedef enum hd_frame_level {
    HD_FRAME_OTHER,   /* no file of Python with a line: native code, what is built in */
    HD_FRAME_BELOW,   /* Python's own modules and frameworks (torch, jax …) */
    HD_FRAME_LIBRARY, /* what is installed: in site-packages, or a library of a known name (transformers, vllm …) */
    HD_FRAME_USER,    /* any other file of Python: the user's own */
} hd_frame_level;

/* Profilers leave out the folders where Python finds modules, so that installed ones are known by their names. */
hd_frame_level hd_frame_level_of(hd_string name);
/* The same, where the code in these files and folders is a framework's as well. They are separated by ',', each from
 * the root or from any folder on: "fastops" has "fastops/add.py" and "/home/me/fastops/add.py". */
hd_frame_level hd_frame_level_beside(hd_string name, const char *folders);

#endif
