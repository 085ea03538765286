/* python_frames.h - whose code a Python frame is: the user's, a library's, or that below them */
#ifndef HD_MODEL_ROLES_PYTHON_FRAMES_H
#define HD_MODEL_ROLES_PYTHON_FRAMES_H

#include "heddle/trace.h"

typedef enum hd_frame_level {
    HD_FRAME_BELOW,   /* Python's own modules, frameworks (torch, jax …), what is built in, modules without a line */
    HD_FRAME_LIBRARY, /* what is installed: in site-packages, or a library of a known name (transformers, vllm …) */
    HD_FRAME_USER,    /* any other file: the user's own */
} hd_frame_level;

/* By the name of a frame, "train/loop.py(88): train_step". Profilers leave out the folders where Python finds modules,
 * so that installed ones are known by their names. */
hd_frame_level hd_frame_level_of(hd_string name);

#endif
