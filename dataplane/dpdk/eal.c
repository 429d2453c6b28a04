//go:build dpdk

#define _GNU_SOURCE
#include "shim.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_log.h>

extern void edemuxLcore(unsigned lcore);

/* DPDK explains failures only in its log, so the log goes into a ring of lines
 * from which errors quote; lines up to stderr_level are shown as well. */
enum { LINES = 256, WIDTH = 240 };
static struct {
	pthread_mutex_t mu;
	uint64_t next;
	unsigned show;
	unsigned char level[LINES];
	char text[LINES][WIDTH];
} ring = {.mu = PTHREAD_MUTEX_INITIALIZER};

static void
keep(int level, const char *buf, size_t n)
{
	unsigned i;
	size_t k = n < WIDTH - 1 ? n : WIDTH - 1;

	pthread_mutex_lock(&ring.mu);
	i = ring.next++ % LINES;
	ring.level[i] = level;
	memcpy(ring.text[i], buf, k);
	ring.text[i][k] = 0;
	if ((unsigned)level <= ring.show)
		fwrite(buf, 1, n, stderr);
	pthread_mutex_unlock(&ring.mu);
}

static ssize_t
log_write(void *cookie, const char *buf, size_t n)
{
	int level = rte_log_cur_msg_loglevel();

	(void)cookie;
	keep(level < 1 ? RTE_LOG_DEBUG : level, buf, n);
	return n;
}

/* libbpf and libxdp, which net_af_xdp brings along, would write to stderr. */
static int
bpf_print(int level, const char *format, va_list args)
{
	char line[WIDTH];
	int n = vsnprintf(line, sizeof(line), format, args);

	if (n > 0)
		keep(level == 0 ? RTE_LOG_WARNING : RTE_LOG_DEBUG, line, n < WIDTH ? n : WIDTH - 1);
	return n;
}

static void
hush(const char *library, const char *setter)
{
	typedef int (*print_fn)(int, const char *, va_list);
	void *h = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	print_fn (*set)(print_fn);

	if (h == NULL)
		return;
	set = (print_fn (*)(print_fn))dlsym(h, setter);
	if (set != NULL)
		set(bpf_print);
}

void
edx_log_open(int stderr_level)
{
	static FILE *f;
	cookie_io_functions_t io = {.write = log_write};

	ring.show = stderr_level;
	if (f == NULL && (f = fopencookie(NULL, "w", io)) != NULL)
		rte_openlog_stream(f);
}

uint64_t
edx_log_mark(void)
{
	uint64_t m;

	pthread_mutex_lock(&ring.mu);
	m = ring.next;
	pthread_mutex_unlock(&ring.mu);
	return m;
}

size_t
edx_log_since(uint64_t mark, unsigned level, char *out, size_t cap)
{
	size_t at = 0;

	pthread_mutex_lock(&ring.mu);
	if (ring.next > LINES && mark < ring.next - LINES)
		mark = ring.next - LINES;
	for (; mark < ring.next; mark++) {
		unsigned i = mark % LINES;
		size_t k = strlen(ring.text[i]);

		if (ring.level[i] > level || at + k >= cap)
			continue;
		memcpy(out + at, ring.text[i], k);
		at += k;
	}
	pthread_mutex_unlock(&ring.mu);
	return at;
}

int
edx_init(int argc, char **argv)
{
	/* A refused option makes EAL print its whole usage text on stdout. */
	FILE *out = stdout, *nul = fopen("/dev/null", "w");
	int r, e;

	if (nul != NULL)
		stdout = nul;
	rte_errno = 0;
	r = rte_eal_init(argc, argv);
	e = rte_errno;
	if (nul != NULL) {
		stdout = out;
		fclose(nul);
	}
	if (r < 0)
		return e > 0 ? -e : -EINVAL;
	hush("libbpf.so.1", "libbpf_set_print");
	hush("libxdp.so.1", "libxdp_set_print");
	return 0;
}

static int
lcore_main(void *arg)
{
	edemuxLcore((unsigned)(uintptr_t)arg);
	return 0;
}

int
edx_launch(unsigned lcore)
{
	return rte_eal_remote_launch(lcore_main, (void *)(uintptr_t)lcore, lcore);
}

/* The clock: wall time at the start plus monotonic time since, so that a stepped
 * wall clock cannot make time jump. Readers follow a pointer; one control thread
 * fills the next reading and swaps. The slots go round, so a reader would have to
 * sleep for CLOCKS syncs to see its reading overwritten. */
enum { CLOCKS = 16 };
static struct edx_clock reading[CLOCKS];
static unsigned reading_i;
static struct edx_clock *clock_now = &reading[0];
static struct edx_clock clock_first;
static int64_t wall_offset;

static int64_t
nanoseconds(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
read_both(uint64_t *tsc, int64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t a = rte_rdtsc();
		int64_t now = nanoseconds(CLOCK_MONOTONIC);
		uint64_t b = rte_rdtsc();

		if (b - a < best) {
			best = b - a;
			*tsc = a + (b - a) / 2;
			*ns = now + wall_offset;
		}
	}
}

static inline int64_t
clock_at(const struct edx_clock *c, uint64_t tsc)
{
	return c->ns + (int64_t)(((__int128)(int64_t)(tsc - c->tsc) * c->mult) >> 32);
}

static uint64_t
slope(uint64_t tsc, int64_t ns)
{
	return (uint64_t)(((unsigned __int128)(ns - clock_first.ns) << 32) / (tsc - clock_first.tsc));
}

void
edx_clock_start(void)
{
	struct timespec nap = {0, 20000000};
	struct edx_clock *c = &reading[0];

	wall_offset = nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC);
	read_both(&clock_first.tsc, &clock_first.ns);
	nanosleep(&nap, NULL);
	read_both(&c->tsc, &c->ns);
	c->mult = slope(c->tsc, c->ns);
	__atomic_store_n(&clock_now, c, __ATOMIC_RELEASE);
}

/* edx_clock_sync takes a longer baseline for the slope and goes on from what
 * the clock says now, so that no reader sees time go back. */
void
edx_clock_sync(void)
{
	enum { SLEW = 500000 }; /* ns per second, so that an error is walked off, not jumped */
	struct edx_clock *cur = clock_now, *c = &reading[++reading_i % CLOCKS];
	int64_t ns = 0, slew;

	read_both(&c->tsc, &ns);
	c->ns = clock_at(cur, c->tsc);
	c->mult = slope(c->tsc, ns);
	slew = ns - c->ns;
	slew = slew > SLEW ? SLEW : slew < -SLEW ? -SLEW : slew;
	c->mult += (int64_t)((__int128)c->mult * slew / 1000000000);
	__atomic_store_n(&clock_now, c, __ATOMIC_RELEASE);
}

int64_t
edx_clock_ns(uint64_t tsc)
{
	return clock_at(__atomic_load_n(&clock_now, __ATOMIC_ACQUIRE), tsc);
}

uint64_t
edx_tsc(void)
{
	return rte_rdtsc();
}

double
edx_clock_hz(void)
{
	const struct edx_clock *c = __atomic_load_n(&clock_now, __ATOMIC_ACQUIRE);

	return c->mult ? 4294967296.0 * 1e9 / c->mult : 0;
}
