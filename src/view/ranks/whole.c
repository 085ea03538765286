/* whole.c - the summaries of several sources as one job, for the reports about all ranks
 *
 * A finished job takes nothing more, so each source is packed as an .hds file in memory and added to a new one.
 */
#include "heddle/source.h"
#include "view/ranks/impl.h"

static hd_status add_source(hd_job *job, hd_job *source, hd_error *err)
{
    hd_byte_sink *packed;
    size_t size;
    HD_TRY(hd_byte_sink_new_memory(&packed, NULL, err));
    hd_status status = hd_job_write_to(source, packed, NULL, err);
    if (status == HD_OK) {
        const void *bytes = hd_byte_sink_get_memory(&size, packed);
        status = hd_job_add_bytes(job, bytes, size, err);
    }
    hd_byte_sink_free(packed);
    return status;
}

hd_status ranks_whole(view_picture *picture, const ranks_source *sources, size_t count, hd_error *err)
{
    hd_job *job;
    HD_TRY(hd_job_new(&job, err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (hd_job_count(sources[i].job) > 0) status = add_source(job, sources[i].job, err);
    }
    if (status == HD_OK) status = hd_job_finish(job, err);
    if (status == HD_OK)
        picture->whole = job;
    else
        hd_job_free(job);
    return status;
}
