//go:build dpdk

#include "shim.h"
#include <errno.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_malloc.h>

struct rte_mempool *
edx_pool(const char *name, unsigned n, unsigned cache, uint16_t priv, uint16_t room, int numa, int *err)
{
	struct rte_mempool *p = rte_pktmbuf_pool_create(name, n, cache, priv, room, numa);

	*err = p == NULL ? -rte_errno : 0;
	return p;
}

struct rte_ring *
edx_ring(const char *name, unsigned size, int numa, int *err)
{
	struct rte_ring *r = rte_ring_create(name, size, numa, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);

	*err = r == NULL ? -rte_errno : 0;
	return r;
}

unsigned
edx_ring_put(struct rte_ring *r, struct rte_mbuf **mb, unsigned n)
{
	return rte_ring_enqueue_burst(r, (void **)mb, n, NULL);
}

unsigned
edx_ring_get(struct rte_ring *r, struct rte_mbuf **mb, unsigned n)
{
	return rte_ring_dequeue_burst(r, (void **)mb, n, NULL);
}

int
edx_alloc(struct rte_mempool *p, struct rte_mbuf **mb, unsigned n)
{
	return rte_pktmbuf_alloc_bulk(p, mb, n);
}

uint8_t *
edx_append(struct rte_mbuf *m, uint16_t len)
{
	return (uint8_t *)rte_pktmbuf_append(m, len);
}

/* edx_retag puts n tags in the place of the first `old` ones; a tag that the
 * device took off goes too. Outer ones are service tags, as of 802.1ad. */
int
edx_retag(struct rte_mbuf *m, unsigned old, const uint16_t *vids, unsigned n)
{
	int more = 4 * ((int)n - (int)old);
	uint8_t mac[12], *p;

	if (rte_pktmbuf_data_len(m) < 14 + 4 * old)
		return -EINVAL;
	memcpy(mac, rte_pktmbuf_mtod(m, uint8_t *), 12);
	if (more > 0 && rte_pktmbuf_prepend(m, more) == NULL)
		return -ENOSPC;
	if (more < 0)
		rte_pktmbuf_adj(m, -more);
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(p, mac, 12);
	for (unsigned i = 0; i < n; i++) {
		p[12 + 4 * i] = i + 1 < n ? 0x88 : 0x81;
		p[13 + 4 * i] = i + 1 < n ? 0xa8 : 0;
		p[14 + 4 * i] = vids[i] >> 8;
		p[15 + 4 * i] = vids[i] & 0xff;
	}
	m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	return 0;
}

struct rte_mbuf *
edx_copy(const struct rte_mbuf *m)
{
	return rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
}

struct edx_feed *
edx_feed_new(struct rte_ring *r, struct rte_mempool *p)
{
	struct edx_feed *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->stage = malloc(EDX_STAGE);
	if (f->stage == NULL) {
		free(f);
		return NULL;
	}
	f->ring = r;
	f->pool = p;
	return f;
}

void
edx_feed_free(struct edx_feed *f)
{
	for (unsigned i = f->put; i < f->built; i++)
		rte_pktmbuf_free(f->mb[i]);
	free(f->stage);
	free(f);
}

/* build copies one staged frame into a chain of mbufs; NULL when the pool is dry. */
static struct rte_mbuf *
build(struct rte_mempool *p, const uint8_t *from, uint32_t len, const struct edx_meta *meta)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(p), *tail = head;

	if (head == NULL)
		return NULL;
	head->pkt_len = len;
	for (;;) {
		uint16_t k = rte_pktmbuf_tailroom(tail);

		if (k > len)
			k = len;
		memcpy(rte_pktmbuf_mtod(tail, uint8_t *), from, k);
		tail->data_len = k;
		from += k;
		len -= k;
		if (len == 0)
			break;
		tail->next = rte_pktmbuf_alloc(p);
		if (tail->next == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		tail = tail->next;
		head->nb_segs++;
	}
	*(struct edx_meta *)rte_mbuf_to_priv(head) = *meta;
	return head;
}

/* edx_feed_push moves staged frames on as far as pool and ring allow and
 * returns how many still wait; what waits keeps its place. */
unsigned
edx_feed_push(struct edx_feed *f)
{
	unsigned k;

	for (; f->built < f->n; f->built++) {
		unsigned i = f->built;

		f->mb[i] = build(f->pool, f->stage + f->off[i], f->len[i], &f->meta[i]);
		if (f->mb[i] == NULL) {
			f->pool_empty++;
			break;
		}
	}
	k = edx_ring_put(f->ring, f->mb + f->put, f->built - f->put);
	f->put += k;
	f->fed += k;
	f->ring_full += f->put < f->built;
	k = f->n - f->put;
	if (k == 0)
		f->n = f->built = f->put = f->used = 0;
	return k;
}
