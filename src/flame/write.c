/* write.c - flames into files, whole or not at all */
#include "base/options.h"
#include "flame/flame.h"

/* A flame to which nothing was added has no tree yet: an empty one is written. */
static hd_status write_flame(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                             hd_flame_written *out, hd_error *err)
{
    switch (options->format) {
    case HD_FLAME_FOLDED: return flame_write_folded(flame, output, options, out, err);
    case HD_FLAME_SPEEDSCOPE: return flame_write_speedscope(flame, output, options, out, err);
    case HD_FLAME_PPROF: return flame_write_pprof(flame, output, options, out, err);
    case HD_FLAME_OTLP: return flame_write_otlp(flame, output, options, out, err);
    case HD_FLAME_SVG: return flame_write_svg(flame, output, options, out, err);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no such format of flame graphs");
}

static hd_status write_into(hd_output *output, const hd_flame *flame, const hd_flame_write_options *options,
                            hd_flame_written *out, hd_error *err)
{
    hd_flame empty = {0}, empty_base = {0};
    hd_flame_write_options given = *options;
    hd_status status = HD_OK;
    if (!flame->stacks) {
        empty.of = flame->of;
        status = flame_make_room(&empty, err);
        flame = &empty;
    }
    if (given.base && !given.base->stacks) {
        if (status == HD_OK) status = flame_make_room(&empty_base, err);
        empty_base.of = flame->of;
        given.base = &empty_base;
    }
    if (status == HD_OK) status = write_flame(flame, output, &given, out, err);
    flame_deinit(&empty);
    flame_deinit(&empty_base);
    return status;
}

static hd_status check_base(const hd_flame *flame, const hd_flame *base, hd_error *err)
{
    if (!base || !base->stacks || !flame->stacks || (flame->of == base->of && flame->reverse == base->reverse))
        return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s%s cannot be compared with %s%s",
                        hd_flame_of_name(flame->of), flame->reverse ? ", reversed," : "", hd_flame_of_name(base->of),
                        base->reverse ? ", reversed" : "");
}

hd_status hd_flame_write(hd_flame_written *out, const hd_flame *flame, const char *path,
                         const hd_flame_write_options *options, hd_error *err)
{
    hd_flame_written scratch;
    hd_output *output;
    if (!out) out = &scratch;
    *out = (hd_flame_written){0};
    HD_OWN_OPTIONS(hd_flame_write_options, options, err);
    HD_TRY(check_base(flame, options->base, err));
    const hd_output_options how = {.sync = options->sync};
    HD_TRY(hd_output_create(&output, path, &how, err));
    hd_status status = write_into(output, flame, options, out, err);
    out->bytes = hd_output_position(output);
    if (status == HD_OK) return hd_output_commit(output, err);
    hd_output_abort(output);
    return status;
}
