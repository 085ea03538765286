/* absent.c - a build without libdw: names only from `symbols` and maps */
#include "symbolize/impl.h"

#include <stdio.h>

hd_status sym_resolve(symbolizer *s)
{
    for (size_t i = 0; i < s->module_count; i++) {
        sym_module *m = &s->modules[i];
        m->result = m->is_ambiguous ? HD_SYMBOLIZE_AMBIGUOUS : HD_SYMBOLIZE_UNREADABLE;
        snprintf(m->why, sizeof m->why, "this heddle was built without libdw (Debian: libdw-dev)");
    }
    return HD_OK;
}

bool hd_symbolize_has_files(void)
{
    return false;
}
