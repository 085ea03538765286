/* spill.c - temporary files of SQLite, counted: sorts beyond the cache, and tables that a statement makes for itself
 *
 * SQLite opens them through the connection's file system (sqlite3_vfs), which here is the default one with another
 * xOpen. Its files add up their growth and end the statement at the limit or when it has to stop, which matters since a
 * single step of a sort writes and reads much.
 */
#include "base/error.h"
#include "query/impl.h"

#include <inttypes.h>

typedef struct spill_file {
    sqlite3_file base;
    hd_query *query;
    uint64_t size;
    sqlite3_file *inner; /* behind this */
} spill_file;

enum { INNER_AT = (sizeof(spill_file) + 15) / 16 * 16 };

static sqlite3_file *inner_of(sqlite3_file *file)
{
    return ((spill_file *)file)->inner;
}

static int spill_close(sqlite3_file *file)
{
    spill_file *spill = (spill_file *)file;
    spill->query->spilled_bytes -= spill->size;
    spill->size = 0;
    return spill->inner->pMethods->xClose(spill->inner);
}

static int spill_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    if (query_stopped(((spill_file *)file)->query)) return SQLITE_INTERRUPT;
    return inner_of(file)->pMethods->xRead(inner_of(file), data, size, at);
}

static int spill_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    spill_file *spill = (spill_file *)file;
    hd_query *query = spill->query;
    uint64_t end = (uint64_t)at + (uint64_t)size, more = end > spill->size ? end - spill->size : 0;
    if (query_stopped(query)) return SQLITE_INTERRUPT;
    if (query->spilled_bytes + more > query->options.spill_bytes) {
        if (query->failure.status == HD_OK)
            hd_error_set(&query->failure, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                         "more than %" PRIu64 " MB of temporary files, the limit: sort or group fewer rows, or fewer "
                         "columns",
                         query->options.spill_bytes / 1000000);
        return SQLITE_FULL;
    }
    int code = spill->inner->pMethods->xWrite(spill->inner, data, size, at);
    if (code != SQLITE_OK) return code;
    spill->size += more;
    query->spilled_bytes += more;
    return SQLITE_OK;
}

static int spill_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    spill_file *spill = (spill_file *)file;
    int code = spill->inner->pMethods->xTruncate(spill->inner, size);
    if (code != SQLITE_OK || (uint64_t)size >= spill->size) return code;
    spill->query->spilled_bytes -= spill->size - (uint64_t)size;
    spill->size = (uint64_t)size;
    return SQLITE_OK;
}

static int spill_sync(sqlite3_file *file, int flags)
{
    return inner_of(file)->pMethods->xSync(inner_of(file), flags);
}

static int spill_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return inner_of(file)->pMethods->xFileSize(inner_of(file), out);
}

static int spill_lock(sqlite3_file *file, int lock)
{
    return inner_of(file)->pMethods->xLock(inner_of(file), lock);
}

static int spill_unlock(sqlite3_file *file, int lock)
{
    return inner_of(file)->pMethods->xUnlock(inner_of(file), lock);
}

static int spill_is_reserved(sqlite3_file *file, int *out)
{
    return inner_of(file)->pMethods->xCheckReservedLock(inner_of(file), out);
}

static int spill_control(sqlite3_file *file, int op, void *value)
{
    return inner_of(file)->pMethods->xFileControl(inner_of(file), op, value);
}

static int spill_sector(sqlite3_file *file)
{
    return inner_of(file)->pMethods->xSectorSize(inner_of(file));
}

static int spill_traits(sqlite3_file *file)
{
    return inner_of(file)->pMethods->xDeviceCharacteristics(inner_of(file));
}

/* Version 1, without memory mapping, so that every access is counted here. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = spill_close,
    .xRead = spill_read,
    .xWrite = spill_write,
    .xTruncate = spill_truncate,
    .xSync = spill_sync,
    .xFileSize = spill_size,
    .xLock = spill_lock,
    .xUnlock = spill_unlock,
    .xCheckReservedLock = spill_is_reserved,
    .xFileControl = spill_control,
    .xSectorSize = spill_sector,
    .xDeviceCharacteristics = spill_traits,
};

static int spill_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
    spill_file *spill = (spill_file *)file;
    hd_query *query = (hd_query *)((char *)vfs - offsetof(hd_query, vfs));
    sqlite3_vfs *inner = sqlite3_vfs_find(NULL);
    *spill = (spill_file){.query = query, .inner = (sqlite3_file *)((char *)file + INNER_AT)};
    spill->inner->pMethods = NULL;
    int code = inner ? inner->xOpen(inner, path, spill->inner, flags, out_flags) : SQLITE_CANTOPEN;
    if (spill->inner->pMethods) spill->base.pMethods = &methods;
    return code;
}

hd_status query_spill_start(hd_query *query, hd_error *err)
{
    if (sqlite3_initialize() != SQLITE_OK) return HD_NOMEM(err);
    const sqlite3_vfs *inner = sqlite3_vfs_find(NULL);
    if (!inner) return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "SQLite has no file system");
    char *name = sqlite3_mprintf("heddle-%p", (void *)query);
    if (!name) return HD_NOMEM(err);
    query->vfs = *inner; /* its other functions work with any vfs object */
    query->vfs.pNext = NULL;
    query->vfs.zName = name;
    query->vfs.szOsFile = INNER_AT + inner->szOsFile;
    query->vfs.xOpen = spill_open;
    if (sqlite3_vfs_register(&query->vfs, 0) == SQLITE_OK) return HD_OK;
    query->vfs.zName = NULL;
    sqlite3_free(name);
    return HD_NOMEM(err);
}

void query_spill_end(hd_query *query)
{
    if (!query->vfs.zName) return;
    sqlite3_vfs_unregister(&query->vfs);
    sqlite3_free((char *)query->vfs.zName);
}
