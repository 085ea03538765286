/* no_library.c - built in place of library.c without SQLite: what only SQLite reads is a loss */
#include "format/sqlite/sqlite.h"

void sq_library_take(sq_file *file, const char *path)
{
    (void)file, (void)path;
}

void sq_library_close(sq_file *file)
{
    (void)file;
}

hd_status sq_library_unchanged(const sq_file *file, hd_error *err)
{
    (void)file, (void)err;
    return HD_OK;
}

void sq_library_rewind(sq_cursor *cursor)
{
    (void)cursor;
}

hd_status sq_library_next(sq_cursor *cursor, hd_error *err)
{
    (void)cursor, (void)err;
    return HD_END;
}
