/* under_tsan.h - what cannot be tested under ThreadSanitizer
 *
 * It follows no thread that starts in a child of a program with threads, has a thread of its own, calls handlers of
 * signals through functions of its own, and takes descriptors that are closed behind its back for races.
 */
#ifndef HD_TESTS_UNDER_TSAN_H
#define HD_TESTS_UNDER_TSAN_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#ifdef __SANITIZE_THREAD__
#define HD_UNDER_TSAN 1
#define SKIP_UNDER_TSAN() skip()
#else
#define HD_UNDER_TSAN 0
#define SKIP_UNDER_TSAN() ((void)0)
#endif

#endif
