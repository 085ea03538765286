/* old_glibc.h - binds the libraries that are loaded into users' programs to GLIBC_2.17 at most
 *
 * With -Dportable=true, Meson includes this before each of their files: a container's glibc may be far older than the
 * one that they are built with. A function with a newer version is bound to its oldest one, which glibc keeps for old
 * programs. Functions formerly in libpthread and libdl are found there, since the libraries link both.
 * tests/capture/check_portable.py checks the bound versions.
 */
#ifndef HEDDLE_CAPTURE_OLD_GLIBC_H
#define HEDDLE_CAPTURE_OLD_GLIBC_H

/* The oldest version is that of the first glibc for the machine; `since` is that of a function younger than it. */
#if defined(__x86_64__)
#define OLD_FIRST 2.2.5
#define OLD_SINCE(since) since
enum { OLD_STAT_LAYOUT = 1 };
#elif defined(__aarch64__)
#define OLD_FIRST 2.17
#define OLD_SINCE(since) OLD_FIRST
enum { OLD_STAT_LAYOUT = 0 };
#else
#error "glibc's first version for this machine is not known here"
#endif

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD_TEXT(version) #version
#define OLD_AS_OF(function, old, version) __asm__(".symver " #function "," #old "@GLIBC_" OLD_TEXT(version))
#define OLD_AS(function, old) OLD_AS_OF(function, old, OLD_FIRST)
#define OLD(function) OLD_AS(function, function)

OLD(dlclose);
OLD(dlerror);
OLD_AS_OF(dlinfo, dlinfo, OLD_SINCE(2.3.3));
OLD(dlopen);
OLD(dlsym);
OLD_AS(fcntl64, fcntl);
OLD(pthread_create);
OLD(pthread_detach);
OLD(pthread_getcpuclockid);
OLD_AS_OF(pthread_getname_np, pthread_getname_np, OLD_SINCE(2.12));
OLD(pthread_join);
OLD(pthread_key_create);
OLD(pthread_mutex_trylock);
OLD(pthread_once);
OLD(pthread_rwlock_init);
OLD(pthread_rwlock_rdlock);
OLD(pthread_rwlock_unlock);
OLD(pthread_rwlock_wrlock);
OLD_AS_OF(pthread_setname_np, pthread_setname_np, OLD_SINCE(2.12));
OLD(pthread_setspecific);
OLD(pthread_sigmask);

/* Functions with these names exist since 2.33. Before, they were inline and passed the layout of their structure. */
extern int __fxstat64(int layout, int fd, struct stat64 *out);
extern int __xstat64(int layout, const char *path, struct stat64 *out);
OLD(__fxstat64);
OLD(__xstat64);
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
#undef OLD_AS_OF
#undef OLD_TEXT
#undef OLD_FIRST
#undef OLD_SINCE
#endif
