/* roles.c - the positions of a picture's rows in the process groups of their job */
#include <stdlib.h>

#include "view/ranks/impl.h"

/* Positions of a dimension in which a row is; NULL: none is in any, or no memory, as *fine says. */
static int64_t *positions_of(const view_picture *p, const job_roles *roles, job_dimension dimension, bool *fine)
{
    int64_t *list = malloc((p->row_count + 1) * sizeof *list);
    bool any = false;
    *fine &= list != NULL;
    for (size_t i = 0; list && i < p->row_count; i++) {
        const job_role *role = job_role_of(roles, p->rows[i].rank);
        list[i] = role && role->at[dimension] >= 0 ? role->at[dimension] : HD_NO_NUMBER;
        any |= list[i] != HD_NO_NUMBER;
    }
    if (any) return list;
    free(list);
    return NULL;
}

hd_status ranks_roles(view_picture *picture, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                      hd_error *err)
{
    job_roles roles;
    bool fine = true;
    hd_status status = job_roles_init(&roles, jobs, count, false, lost, err);
    for (int d = 0; d < JOB_DIMENSIONS && status == HD_OK; d++) {
        free(picture->roles[d]); /* of a call that failed later on */
        picture->roles[d] = positions_of(picture, &roles, (job_dimension)d, &fine);
    }
    job_roles_deinit(&roles);
    return status == HD_OK && !fine ? HD_NOMEM(err) : status;
}
