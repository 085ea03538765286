/* name_categories.h - the category of each name: that of the first event which has it */
#ifndef HD_VIEW_SCENE_NAME_CATEGORIES_H
#define HD_VIEW_SCENE_NAME_CATEGORIES_H

#include "view/scene/scene.h"

/* By string id of the trace: string id of the category + 1, 0: no event has the name. The caller frees. Slices come
 * before other events. *out is NULL if it was stopped. Errors: MEMORY. */
hd_status view_name_categories(uint32_t **out, const hd_trace *trace, const atomic_bool *stop, hd_error *err);
/* "kernel", "op" … Static. */
const char *view_role_text(hd_role role);

#endif
