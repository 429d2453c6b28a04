//go:build dpdk

#include "shim.h"
#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

/* free_plain returns a burst in one mempool operation when every mbuf is a
 * whole, unshared packet of one pool, which is what a receive queue gives. */
static inline int
free_plain(struct rte_mbuf **mb, unsigned n)
{
	struct rte_mempool *pool = mb[0]->pool;
	unsigned odd = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct rte_mbuf *m = mb[i];

		odd |= (m->nb_segs != 1) | (rte_mbuf_refcnt_read(m) != 1) |
			!RTE_MBUF_DIRECT(m) | (m->pool != pool);
	}
	if (unlikely(odd))
		return 0;
	rte_mempool_put_bulk(pool, (void **)mb, n);
	return 1;
}

void
edx_free(struct rte_mbuf **mb, unsigned n)
{
	if (n != 0 && !free_plain(mb, n))
		rte_pktmbuf_free_bulk(mb, n);
}

void
edx_release(struct edx_rxq *q)
{
	struct rte_mbuf *rest[EDX_BURST];
	unsigned k = 0;

	if (likely(q->keep == 0)) {
		edx_free(q->mb, q->n);
	} else {
		for (unsigned i = 0; i < q->n; i++)
			if (!(q->keep >> i & 1))
				rest[k++] = q->mb[i];
		edx_free(rest, k);
		q->keep = 0;
	}
	q->n = 0;
}

/* restore_tag puts a tag that the device took off on receive back before
 * sending: by the device when it can, else into the bytes. */
static inline int
restore_tag(const struct edx_txq *t, struct rte_mbuf **m)
{
	if (likely(!((*m)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)))
		return 0;
	if (t->vlan_insert) {
		(*m)->ol_flags |= RTE_MBUF_F_TX_VLAN;
		return 0;
	}
	return rte_vlan_insert(m);
}

void
edx_flush(struct edx_txq *t)
{
	unsigned n = 0, sent = 0, got;
	uint64_t bytes[EDX_TX + 1];

	bytes[0] = 0;
	for (unsigned i = 0; i < t->n; i++) {
		if (unlikely(restore_tag(t, &t->mb[i]) != 0)) {
			rte_pktmbuf_free(t->mb[i]);
			t->refused++;
			continue;
		}
		t->mb[n] = t->mb[i];
		bytes[n + 1] = bytes[n] + t->mb[n]->pkt_len;
		n++;
	}
	while (sent < n) {
		got = rte_eth_tx_burst(t->port, t->queue, t->mb + sent, n - sent);
		if (got == 0)
			break;
		sent += got;
	}
	t->sent += sent;
	t->bytes += bytes[sent];
	t->refused += n - sent;
	t->flushes++;
	edx_free(t->mb + sent, n - sent);
	t->n = 0;
}

/* linearise copies a chain into the slot of packet i and returns what fits. */
static uint32_t
linearise(struct edx_rxq *q, unsigned i, const struct rte_mbuf *m)
{
	uint32_t want = m->pkt_len < q->slot ? m->pkt_len : q->slot, at = 0;
	uint8_t *to = q->scratch + (size_t)i * q->slot;

	for (; m != NULL && at < want; m = m->next) {
		uint32_t k = m->data_len < want - at ? m->data_len : want - at;

		memcpy(to + at, rte_pktmbuf_mtod(m, uint8_t *), k);
		at += k;
	}
	return at;
}

static void
from_meta(struct edx_frame *f, const struct edx_meta *e)
{
	f->ts = e->ts;
	f->num = e->num;
	f->wire_len = e->wire_len;
	f->port = e->port;
	f->cpu = e->cpu;
	f->link = e->link;
	f->dir = e->dir;
	f->pkt_type = e->pkt_type;
	f->has_pkt_type = e->has_pkt_type;
	f->has_queue = e->has_queue;
	f->vlan_stripped = e->vlan_stripped;
	f->tci = e->tci;
}

static void
fill_chain(struct edx_rxq *q, unsigned i, struct rte_mbuf *m)
{
	struct edx_frame *f = &q->frame[i];

	f->data = q->scratch + (size_t)i * q->slot;
	f->len = f->cap = linearise(q, i, m);
	q->linearised++;
	q->cut += f->len < m->pkt_len;
}

uint16_t
edx_poll(struct edx_rxq *q)
{
	uint64_t bytes = 0;
	uint16_t n;

	if (q->n != 0)
		edx_release(q);
	for (unsigned i = 0; i < q->ntx; i++)
		if (q->tx[i]->n != 0)
			edx_flush(q->tx[i]);
	n = rte_eth_rx_burst(q->port, q->queue, q->mb, q->burst);
	q->n = n;
	q->polls++;
	q->tsc = rte_rdtsc();
	q->ns = edx_clock_ns(q->tsc);
	if (n == 0) {
		q->empty++;
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = q->mb[i];
		struct edx_frame *f = &q->frame[i];

		f->data = rte_pktmbuf_mtod(m, uint8_t *);
		rte_prefetch0(f->data);
		f->len = f->cap = m->data_len;
		f->ts = q->ns;
		f->num = q->packets + i + 1;
		f->wire_len = m->pkt_len;
		f->vlan_stripped = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
		f->tci = m->vlan_tci;
		q->flags[i] = m->ol_flags;
		q->hash[i] = m->hash.rss;
		bytes += m->pkt_len;
		if (unlikely(m->nb_segs != 1))
			fill_chain(q, i, m);
		if (q->meta) {
			const struct edx_meta *e = rte_mbuf_to_priv(m);

			from_meta(f, e);
			q->seq[i] = e->seq;
		}
	}
	q->packets += n;
	q->bytes += bytes;
	return n;
}

/* edx_source receives and frees, nothing else: what the device itself costs. */
uint64_t
edx_source(struct edx_rxq *q, uint64_t ticks, uint64_t *elapsed)
{
	uint64_t start = rte_rdtsc(), got = 0;

	edx_release(q);
	while ((*elapsed = rte_rdtsc() - start) < ticks)
		for (unsigned i = 0; i < 64; i++) {
			uint16_t n = rte_eth_rx_burst(q->port, q->queue, q->mb, q->burst);

			edx_free(q->mb, n);
			got += n;
		}
	return got;
}

/* edx_polls is the poll that Go calls, in a loop that stays in C. */
uint64_t
edx_polls(struct edx_rxq *q, uint64_t ticks, uint64_t *elapsed)
{
	uint64_t start = rte_rdtsc(), got = 0;

	while ((*elapsed = rte_rdtsc() - start) < ticks)
		for (unsigned i = 0; i < 64; i++)
			got += edx_poll(q);
	return got;
}

struct edx_rxq *
edx_rxq_new(uint16_t port, uint16_t queue, uint16_t burst, uint32_t slot, int numa)
{
	struct edx_rxq *q = rte_zmalloc_socket("edx_rxq", sizeof(*q), RTE_CACHE_LINE_SIZE, numa);

	if (q == NULL)
		return NULL;
	q->frame = rte_zmalloc_socket("edx_frame", EDX_BURST * sizeof(*q->frame), RTE_CACHE_LINE_SIZE, numa);
	/* Touched by chains only, so the pages stay unbacked otherwise. */
	q->scratch = malloc((size_t)EDX_BURST * slot);
	if (q->frame == NULL || q->scratch == NULL) {
		edx_rxq_free(q);
		return NULL;
	}
	q->port = port;
	q->queue = queue;
	q->burst = burst;
	q->slot = slot;
	for (unsigned i = 0; i < EDX_BURST; i++)
		q->frame[i].link = 1;
	return q;
}

void
edx_rxq_free(struct edx_rxq *q)
{
	if (q == NULL)
		return;
	rte_free(q->frame);
	free(q->scratch);
	rte_free(q);
}

struct edx_txq *
edx_txq_new(uint16_t port, uint16_t queue, int vlan_insert, int numa)
{
	struct edx_txq *t = rte_zmalloc_socket("edx_txq", sizeof(*t), RTE_CACHE_LINE_SIZE, numa);

	if (t == NULL)
		return NULL;
	t->port = port;
	t->queue = queue;
	t->vlan_insert = vlan_insert;
	return t;
}

void
edx_txq_free(struct edx_txq *t)
{
	rte_free(t);
}
