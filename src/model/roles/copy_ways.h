/* copy_ways.h - from where to where a copy goes, by its name */
#ifndef HD_MODEL_ROLES_COPY_WAYS_H
#define HD_MODEL_ROLES_COPY_WAYS_H

#include "heddle/trace.h"

/* 'H' host, 'D' device, 'P' peer, 'A' array; 0: unknown. */
#define HD_COPY_WAY(from, to) ((uint32_t)(from) << 8 | (uint32_t)(to))
/* HD_COPY_WAY('H', 'D') of "Memcpy HtoD", "MemcpyH2D", "CopyHostToDevice", "HOST_TO_DEVICE", "Host -> Device". */
uint32_t hd_copy_way_of(hd_string name);

#endif
