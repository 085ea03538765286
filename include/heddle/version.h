/* version.h - which release of libheddle a program runs with */
#ifndef HEDDLE_VERSION_H
#define HEDDLE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The release, as in "0.1.0". It is the version of the loaded library, which may be newer than the headers that a
 * program was built with. Static. */
const char *hd_version(void);

#ifdef __cplusplus
}
#endif
#endif
