/* old_glibc.h - binds the libraries that are loaded into other people's programs to GLIBC_2.17 at most
 *
 * With -Dportable=true, Meson puts this before each of their files: a container's glibc may be far older than the one
 * that they are built with. A function whose newest version is younger gets the oldest one, which glibc keeps for
 * programs of that time. What was in libpthread and libdl then is found there, as the libraries name both.
 * tests/capture/check_portable.py reads what was bound.
 */
#ifndef HEDDLE_CAPTURE_OLD_GLIBC_H
#define HEDDLE_CAPTURE_OLD_GLIBC_H

#if !defined(__x86_64__)
#error "the versions named here are those of x86-64"
#endif

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD_AS(function, old, version) __asm__(".symver " #function "," #old "@GLIBC_" #version)
#define OLD(function, version) OLD_AS(function, function, version)

OLD(dlclose, 2.2.5);
OLD(dlerror, 2.2.5);
OLD(dlinfo, 2.3.3);
OLD(dlopen, 2.2.5);
OLD(dlsym, 2.2.5);
OLD_AS(fcntl64, fcntl, 2.2.5);
OLD(pthread_create, 2.2.5);
OLD(pthread_detach, 2.2.5);
OLD(pthread_getcpuclockid, 2.2.5);
OLD(pthread_getname_np, 2.12);
OLD(pthread_join, 2.2.5);
OLD(pthread_key_create, 2.2.5);
OLD(pthread_once, 2.2.5);
OLD(pthread_rwlock_init, 2.2.5);
OLD(pthread_rwlock_rdlock, 2.2.5);
OLD(pthread_rwlock_unlock, 2.2.5);
OLD(pthread_rwlock_wrlock, 2.2.5);
OLD(pthread_setname_np, 2.12);
OLD(pthread_setspecific, 2.2.5);
OLD(pthread_sigmask, 2.2.5);

/* Functions by these names are there since 2.33. Before, they were inline and passed the layout of their structure. */
enum { OLD_STAT_LAYOUT = 1 };
extern int __fxstat64(int layout, int fd, struct stat64 *out);
extern int __xstat64(int layout, const char *path, struct stat64 *out);
OLD(__fxstat64, 2.2.5);
OLD(__xstat64, 2.2.5);
#define fstat(fd, out) __fxstat64(OLD_STAT_LAYOUT, (fd), (struct stat64 *)(out))
#define stat(path, out) __xstat64(OLD_STAT_LAYOUT, (path), (struct stat64 *)(out))

/* Since 2.25. Fails where the kernel is older than 3.17, too. */
static inline int old_getentropy(void *out, size_t size)
{
    return syscall(SYS_getrandom, out, size, 0) == (long)size ? 0 : -1;
}
#define getentropy old_getentropy

#undef OLD
#undef OLD_AS
#endif
