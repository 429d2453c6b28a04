//go:build dpdk

/* C side of the binding: flat structures that Go reads in place, and one
 * function per step. Every function that can fail returns 0 or -errno; none
 * calls back into Go except through edemuxLcore and edemuxTelemetry. */
#ifndef EDX_SHIM_H
#define EDX_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_telemetry.h>

enum {
	EDX_BURST = 64,      /* most packets of one receive burst; a bit each in `keep` */
	EDX_TX = 256,        /* most packets waiting in a transmit queue */
	EDX_TXQS = 32,       /* most transmit queues flushed by one receive queue's poll */
	EDX_META = 64,       /* private area of a capture mbuf, bytes */
	EDX_KEY = 64,        /* longest RSS key, bytes */
	EDX_RETA = 2048,     /* largest redirection table */
	EDX_ERRLEN = 512,
};

/* Mirrors packet.Frame field by field; rx.go refuses to compile when they differ. */
struct edx_frame {
	uint8_t *data;
	int64_t len, cap;
	int64_t ts;
	uint64_t num;
	uint32_t wire_len;
	uint16_t port, cpu, link;
	uint8_t dir, pkt_type, has_pkt_type, has_queue, vlan_stripped;
	uint16_t tci;
};

enum {
	EDX_OFF_LEN = offsetof(struct edx_frame, len),
	EDX_OFF_TS = offsetof(struct edx_frame, ts),
	EDX_OFF_NUM = offsetof(struct edx_frame, num),
	EDX_OFF_WIRELEN = offsetof(struct edx_frame, wire_len),
	EDX_OFF_PORT = offsetof(struct edx_frame, port),
	EDX_OFF_CPU = offsetof(struct edx_frame, cpu),
	EDX_OFF_LINK = offsetof(struct edx_frame, link),
	EDX_OFF_DIR = offsetof(struct edx_frame, dir),
	EDX_OFF_PKTTYPE = offsetof(struct edx_frame, pkt_type),
	EDX_OFF_HASPKTTYPE = offsetof(struct edx_frame, has_pkt_type),
	EDX_OFF_HASQUEUE = offsetof(struct edx_frame, has_queue),
	EDX_OFF_STRIPPED = offsetof(struct edx_frame, vlan_stripped),
	EDX_OFF_TCI = offsetof(struct edx_frame, tci),
	EDX_SIZE_FRAME = sizeof(struct edx_frame),
};

/* Where Go finds the bytes of an mbuf's first segment. */
enum {
	EDX_MBUF_ADDR = offsetof(struct rte_mbuf, buf_addr),
	EDX_MBUF_OFF = offsetof(struct rte_mbuf, data_off),
	EDX_MBUF_LEN = offsetof(struct rte_mbuf, data_len),
	EDX_MBUF_PKTLEN = offsetof(struct rte_mbuf, pkt_len),
};

/* What a capture knows of a frame; rides in the private area of its mbuf. */
struct edx_meta {
	int64_t ts;
	uint64_t num, seq;
	uint32_t wire_len;
	uint16_t port, cpu, link, tci;
	uint8_t dir, pkt_type, has_pkt_type, has_queue, vlan_stripped;
};

_Static_assert(sizeof(struct edx_meta) <= EDX_META, "the private area holds the facts");

/* A reading of the wall clock and the TSC, and ns per tick as 32.32 fixed point. */
struct edx_clock {
	uint64_t tsc;
	int64_t ns;
	uint64_t mult;
};

struct edx_txq {
	uint16_t port, queue;
	uint16_t n; /* packets waiting in mb; Go appends */
	uint8_t vlan_insert;
	uint64_t sent, bytes, refused, flushes;
	struct rte_mbuf *mb[EDX_TX];
} __rte_cache_aligned;

struct edx_rxq {
	uint64_t keep;  /* bit i: Go handed mb[i] over, do not free it */
	uint64_t tsc;   /* clock right after the last receive */
	int64_t ns;     /* the same on the wall clock */
	uint16_t n;     /* packets of the burst that Go holds */
	uint16_t burst; /* ask for so many */
	uint16_t port, queue;
	uint8_t meta;   /* packets carry struct edx_meta */
	uint16_t ntx;
	uint32_t slot;  /* bytes of one scratch slot */
	uint8_t *scratch;
	uint64_t polls, empty, packets, bytes, linearised, cut;
	struct edx_frame *frame;
	struct edx_txq *tx[EDX_TXQS];
	struct rte_mbuf *mb[EDX_BURST];
	uint64_t flags[EDX_BURST];
	uint32_t hash[EDX_BURST];
	uint64_t seq[EDX_BURST];
} __rte_cache_aligned;

/* One crossing per burst. */
uint16_t edx_poll(struct edx_rxq *q);
void edx_release(struct edx_rxq *q);
void edx_flush(struct edx_txq *t);
void edx_free(struct rte_mbuf **mb, unsigned n);
struct edx_rxq *edx_rxq_new(uint16_t port, uint16_t queue, uint16_t burst, uint32_t slot, int numa);
void edx_rxq_free(struct edx_rxq *q);
struct edx_txq *edx_txq_new(uint16_t port, uint16_t queue, int vlan_insert, int numa);
void edx_txq_free(struct edx_txq *t);
uint64_t edx_source(struct edx_rxq *q, uint64_t ticks, uint64_t *elapsed);
uint64_t edx_polls(struct edx_rxq *q, uint64_t ticks, uint64_t *elapsed);

/* Captures into mbufs. */
enum { EDX_FEED = 64, EDX_STAGE = 1 << 20 };
struct edx_feed {
	struct rte_ring *ring;
	struct rte_mempool *pool;
	uint32_t used;  /* bytes of stage taken */
	uint16_t n;     /* frames staged */
	uint16_t built; /* of these, turned into mbufs */
	uint16_t put;   /* of these, in the ring */
	uint64_t fed, ring_full, pool_empty;
	uint32_t off[EDX_FEED], len[EDX_FEED];
	struct edx_meta meta[EDX_FEED];
	struct rte_mbuf *mb[EDX_FEED];
	uint8_t *stage;
};
struct edx_feed *edx_feed_new(struct rte_ring *r, struct rte_mempool *p);
void edx_feed_free(struct edx_feed *f);
unsigned edx_feed_push(struct edx_feed *f);

/* EAL. */
void edx_log_open(int stderr_level);
uint64_t edx_log_mark(void);
size_t edx_log_since(uint64_t mark, unsigned level, char *out, size_t cap);
int edx_init(int argc, char **argv);
int edx_launch(unsigned lcore);
void edx_clock_start(void);
void edx_clock_sync(void);
int64_t edx_clock_ns(uint64_t tsc);
uint64_t edx_tsc(void);
double edx_clock_hz(void);

/* Pools and rings. */
struct rte_mempool *edx_pool(const char *name, unsigned n, unsigned cache, uint16_t priv, uint16_t room, int numa, int *err);
struct rte_ring *edx_ring(const char *name, unsigned size, int numa, int *err);
unsigned edx_ring_put(struct rte_ring *r, struct rte_mbuf **mb, unsigned n);
unsigned edx_ring_get(struct rte_ring *r, struct rte_mbuf **mb, unsigned n);
int edx_alloc(struct rte_mempool *p, struct rte_mbuf **mb, unsigned n);
uint8_t *edx_append(struct rte_mbuf *m, uint16_t len);
struct rte_mbuf *edx_copy(const struct rte_mbuf *m);
int edx_retag(struct rte_mbuf *m, unsigned old, const uint16_t *vids, unsigned n);

/* Ports. */
struct edx_conf {
	uint16_t nrx, ntx, rx_desc, tx_desc, mtu;
	uint8_t promiscuous, checksum, vlan_strip, tx_checksum, key_len;
	uint64_t rss_fields;
	uint8_t key[EDX_KEY];
};
struct edx_info {
	char name[RTE_ETH_NAME_MAX_LEN], driver[64];
	int numa;
	uint8_t mac[6];
	uint16_t max_rxq, max_txq, min_mtu, max_mtu, mtu, reta, rx_desc, tx_desc;
	uint8_t key_len, lacks_mtu, lacks_promiscuous;
	uint32_t min_rx_buf, max_frame;
	uint64_t rx_capa, tx_capa, rx_on, tx_on, rss_capa, rss_on;
};
struct edx_link {
	uint32_t mbps;
	uint8_t up, full_duplex, autoneg;
};
int edx_probe(const char *device, const char *name, uint16_t *port);
int edx_port_count(void);
int edx_info(uint16_t port, struct edx_info *o, const char **step);
int edx_configure(uint16_t port, struct edx_conf *c, struct rte_mempool **pools, struct edx_info *o, const char **step);
int edx_start(uint16_t port, const struct edx_conf *c, struct edx_info *o, const char **step);
int edx_reta(uint16_t port, const uint16_t *queues, uint16_t n);
int edx_close(uint16_t port);
int edx_link(uint16_t port, struct edx_link *l);
int edx_xstats(uint16_t port, struct rte_eth_xstat_name *names, uint64_t *values, unsigned cap);

/* Telemetry. */
int edx_tel_register(const char *path, const char *help);
int edx_tel_u64(struct rte_tel_data *d, const char *name, uint64_t v);
int edx_tel_array_u64(struct rte_tel_data *d, uint64_t v);
int edx_tel_start_u64(struct rte_tel_data *d);
int edx_tel_start_string(struct rte_tel_data *d);

#endif
