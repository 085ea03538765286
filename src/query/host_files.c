/* host_files.c - SQLite's files in WebAssembly: temporary ones, which are memory of the host
 *
 * SQLite is built without an operating system (SQLITE_OS_OTHER). Databases are in memory, and only sorts and tables
 * that a statement makes for itself are files (query/spill.c counts them).
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io/temporary.h"

enum { NAME_BYTES = 64, SECTOR_BYTES = 4096 };

typedef struct memory_file {
    sqlite3_file base;
    int fd;
} memory_file;

static int fd_of(sqlite3_file *file)
{
    return ((memory_file *)file)->fd;
}

static int file_close(sqlite3_file *file)
{
    return close(fd_of(file)) == 0 ? SQLITE_OK : SQLITE_IOERR_CLOSE;
}

static int file_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    ssize_t got = pread(fd_of(file), data, (size_t)size, at);
    if (got == size) return SQLITE_OK;
    if (got < 0) return SQLITE_IOERR_READ;
    memset((char *)data + got, 0, (size_t)(size - got));
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    return pwrite(fd_of(file), data, (size_t)size, at) == size ? SQLITE_OK : SQLITE_FULL;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return ftruncate(fd_of(file), size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    struct stat about;
    if (fstat(fd_of(file), &about) != 0) return SQLITE_IOERR_FSTAT;
    *out = about.st_size;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int lock)
{
    (void)file, (void)lock;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *value)
{
    (void)file, (void)op, (void)value;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
    (void)file;
    return SECTOR_BYTES;
}

static int file_traits(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
    memory_file *opened = (memory_file *)file;
    (void)vfs, (void)path;
    if (hd_temporary_nameless(&opened->fd, NULL) != HD_OK) return SQLITE_CANTOPEN;
    opened->base.pMethods = &methods;
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs, (void)path, (void)sync;
    return SQLITE_OK; /* files have no names */
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    (void)vfs, (void)path, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int vfs_name(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    (void)vfs;
    snprintf(out, (size_t)size, "%s", path);
    return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    return getentropy(out, (size_t)size < 256 ? (size_t)size : 256) == 0 ? size : 0;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs, (void)microseconds;
    return 0;
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out_ms)
{
    static const sqlite3_int64 unix_epoch_ms = 210866760000000; /* in days of Julius, as SQLite counts */
    struct timespec now;
    (void)vfs;
    clock_gettime(CLOCK_REALTIME, &now);
    *out_ms = unix_epoch_ms + (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return SQLITE_OK;
}

static int vfs_time_days(sqlite3_vfs *vfs, double *out)
{
    sqlite3_int64 ms;
    vfs_time(vfs, &ms);
    *out = (double)ms / 86400000.0;
    return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs, (void)size, (void)out;
    return errno;
}

int sqlite3_os_init(void)
{
    static sqlite3_vfs vfs = {
        .iVersion = 2,
        .szOsFile = sizeof(memory_file),
        .mxPathname = NAME_BYTES,
        .zName = "memory of the host",
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_name,
        .xRandomness = vfs_random,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time_days,
        .xGetLastError = vfs_error,
        .xCurrentTimeInt64 = vfs_time,
    };
    return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void)
{
    return SQLITE_OK;
}
