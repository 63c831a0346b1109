/* The C interface of Tropica: exact values and gradients of sequence losses, and the machines
 * that they are made of.
 *
 *     tropica_loss_args loss = { .size = sizeof loss, .spec = "{\"kind\":\"edit\"}", .spec_bytes = 15 };
 *     tropica_error err = { .size = sizeof err, .text = buffer, .text_room = sizeof buffer };
 *     if (tropica_loss(&loss, &err) != TROPICA_OK) { puts(buffer); }
 *
 * Every function takes one struct of arguments, with inputs and outputs, and an error, which may
 * be null. Set `size` to sizeof the struct, and what is not used to 0. Every field has eight
 * bytes. The library keeps no pointer after a call has ended, and copies no input that it
 * does not need.
 *
 * Functions may be called by several threads. Calls with one session wait for each other. After
 * fork, every call in the child returns TROPICA_FORKED: start a process of `fst serve` there.
 */
#ifndef TROPICA_H
#define TROPICA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TROPICA_ABI_VERSION 2

/* How a call ended. */
enum {
	TROPICA_OK = 0,
	TROPICA_INVALID = 1,    /* arguments or data are wrong */
	TROPICA_OVER_LIMIT = 2, /* more memory than allowed */
	TROPICA_CANCELLED = 3,  /* by tropica_cancel */
	TROPICA_FORKED = 4,     /* in a child of fork */
	TROPICA_OLD_ABI = 5,    /* another version of the structs */
	TROPICA_BAD_HANDLE = 6, /* a handle that stands for nothing, or for something else */
	TROPICA_BUG = 7,        /* please report it */
	TROPICA_RUNNING = 8     /* of tropica_start and tropica_wait: the call goes on */
};

/* Stands for something that the library holds; 0 is none. Free it with tropica_free. */
typedef uint64_t tropica_handle;

/* The error of a call. `text` is always ended by a 0 byte, cut where room ends. */
typedef struct {
	uint64_t size;
	char *text;        /* of the caller; may be null */
	int64_t text_room; /* bytes at text */
	int64_t status;    /* as returned */
	int64_t element;   /* number of the example, arc or candidate at fault; -1 if none is */
} tropica_error;

typedef struct {
	uint64_t size;
	int64_t abi; /* out */
} tropica_version_args;

typedef struct {
	uint64_t size;
	tropica_handle handle; /* in: free, cancel; out: cancel_new, session */
} tropica_handle_args;

typedef struct {
	uint64_t size;
	const char *spec;  /* JSON, as `fst loss --help` has losses */
	int64_t spec_bytes;
	const void *file;  /* a transducer's binary file; null: the one that spec names */
	int64_t file_bytes;
	int64_t limit;     /* greatest bytes of a loss machine; 0 is 2 GB */
	tropica_handle loss; /* out */
} tropica_loss_args;

enum { TROPICA_FLOAT64 = 0, TROPICA_FLOAT32 = 1 };

/* An array [batch, length, window]. Elements of a row are neighbours; strides count elements,
 * and 0 is a dense array's. Row t holds the scores of the windows that end at position t, the
 * earliest label first; rows before order - 1 use only their first alphabet^(t+1) elements. */
typedef struct {
	void *data; /* null: none */
	int64_t type;
	int64_t batch_stride, row_stride;
} tropica_tensor;

/* Outputs are those whose pointers are not null. On an error, numbers are NaN. */
typedef struct {
	uint64_t size;
	tropica_handle session; /* keeps machines and memory; 0 is a fresh one */
	tropica_handle cancel;  /* 0 is none */
	tropica_handle loss;    /* 0 is the loss 0 */
	double gamma;
	int64_t batch, length, window;
	int64_t alphabet, order;
	int64_t workers;           /* 0 is all processors; results do not depend on it */
	const int32_t *references; /* all symbols, one reference after the other */
	const int64_t *offsets;    /* batch + 1: where each reference begins */
	const int64_t *lengths;    /* of the strings; null: those of the references */
	tropica_tensor theta, direction;
	double *log_z;       /* log of the sum over strings u of exp(theta(u) + gamma L(u)) */
	double *log_z0;      /* the same without the loss */
	double *expected;    /* mean loss under the first */
	double *risk;        /* mean loss under the second */
	double *score;       /* theta of the reference */
	double *max_aug;     /* greatest theta(u) + gamma L(u) */
	double *max_score;   /* greatest theta(u) */
	int32_t *argmax;     /* [batch, length], the string of max_aug, -1 behind its end */
	int32_t *viterbi;    /* the string of max_score */
	double *log_z_error; /* how far log_z of a banded loss may be off */
	tropica_tensor marginals, risk_gradient, hvp;
	tropica_tensor risk_hvp; /* derivative of risk_gradient along direction, as hvp is of marginals */
	int64_t less_reference; /* 1: marginals are less 1 at the windows of the reference */
} tropica_evaluate_args;

typedef struct {
	uint64_t size;
	tropica_handle session, cancel, loss;
	double gamma;
	int64_t batch, length, window;
	int64_t alphabet, order, workers;
	const int32_t *references;
	const int64_t *offsets, *lengths;
	tropica_tensor theta;
	uint64_t seed;
	int64_t count;    /* strings an example */
	int32_t *strings; /* out: [batch, count, length] */
} tropica_sample_args;

typedef struct {
	uint64_t size;
	tropica_handle cancel, loss;
	int64_t alphabet, count;
	const int32_t *symbols; /* of all candidates, one after the other */
	const int64_t *offsets; /* count + 1 */
	const double *log_weights; /* null: all equal */
	double *risks;          /* out: by candidate */
	int64_t best;           /* out */
} tropica_min_risk_args;

typedef struct {
	uint64_t size;
	tropica_handle cancel, loss;
	double gamma;
	int64_t alphabet, states, arcs; /* state 0 is the start */
	const int64_t *from, *to;       /* by arc */
	const int32_t *label;           /* by arc, symbols from 0 */
	const double *score;            /* by arc */
	const double *final;            /* by state: score of ending there, -inf for no end */
	const int32_t *reference;
	int64_t reference_count;
	const double *direction;        /* by arc */
	double log_z, log_z0, expected, risk, max_aug;   /* out */
	double *marginals, *risk_gradient, *hvp, *risk_hvp; /* out, by arc */
	int32_t *argmax;                                 /* out */
	int64_t argmax_room, argmax_count;               /* in, out */
} tropica_lattice_args;

/* Weight types of machines. */
enum { TROPICA_STANDARD = 0, TROPICA_LOG = 1, TROPICA_LOG64 = 2 };

typedef struct {
	uint64_t size;
	const void *data;
	int64_t bytes;
	int64_t text; /* 1: text with numbers as labels, of weights `type` */
	int64_t type;
	tropica_handle machine; /* out */
} tropica_machine_read_args;

typedef struct {
	uint64_t size;
	int64_t type, states, arcs;
	int64_t start; /* -1 is none */
	const int64_t *from, *to;
	const int32_t *ilabel, *olabel;
	const double *weight;
	const double *final; /* by state; infinity is not final */
	tropica_handle machine; /* out */
} tropica_machine_arcs_args;

/* Operations: compose intersect union concat closure invert project connect arcsort topsort
 * rmepsilon determinize minimize push shortestpath prune convert; with a number as answer:
 * equal isomorphic equivalent shortestdistance. */
typedef struct {
	uint64_t size;
	tropica_handle cancel;
	const char *name;
	int64_t name_bytes;
	const char *options; /* JSON such as {"n": 5}; null: none */
	int64_t options_bytes;
	tropica_handle a, b;
	int64_t limit; /* greatest bytes; 0 is none */
	tropica_handle machine; /* out */
	double answer;          /* out */
} tropica_machine_operate_args;

typedef struct {
	uint64_t size;
	tropica_handle machine;
	int64_t text; /* 1: as `fst print` */
	void *data;
	int64_t room;
	int64_t needed; /* out: bytes; nothing is written where there is less room */
} tropica_machine_write_args;

typedef struct {
	uint64_t size;
	tropica_handle machine;
	int64_t type, states, arcs, start; /* out */
} tropica_machine_sizes_args;

typedef struct {
	uint64_t size;
	tropica_handle machine;
	int64_t *from, *to;
	int32_t *ilabel, *olabel;
	double *weight, *final;
} tropica_machine_copy_args;

#define TROPICA_CALL(name, args) int32_t tropica_##name(args *a, tropica_error *e);

TROPICA_CALL(version, tropica_version_args)
TROPICA_CALL(free, tropica_handle_args)
TROPICA_CALL(cancel_new, tropica_handle_args)
TROPICA_CALL(cancel, tropica_handle_args) /* ends calls that have the handle, within 0.1 s */
TROPICA_CALL(loss, tropica_loss_args)
TROPICA_CALL(session, tropica_handle_args)
TROPICA_CALL(evaluate, tropica_evaluate_args)
TROPICA_CALL(sample, tropica_sample_args)
TROPICA_CALL(min_risk, tropica_min_risk_args)
TROPICA_CALL(lattice, tropica_lattice_args)
TROPICA_CALL(machine_read, tropica_machine_read_args)
TROPICA_CALL(machine_arcs, tropica_machine_arcs_args)
TROPICA_CALL(machine_operate, tropica_machine_operate_args)
TROPICA_CALL(machine_write, tropica_machine_write_args)
TROPICA_CALL(machine_sizes, tropica_machine_sizes_args)
TROPICA_CALL(machine_copy, tropica_machine_copy_args)

#undef TROPICA_CALL

/* The numbers of calls, for tropica_start. */
enum {
	TROPICA_CALL_VERSION = 1,
	TROPICA_CALL_FREE,
	TROPICA_CALL_CANCEL_NEW,
	TROPICA_CALL_CANCEL,
	TROPICA_CALL_LOSS,
	TROPICA_CALL_SESSION,
	TROPICA_CALL_EVALUATE,
	TROPICA_CALL_SAMPLE,
	TROPICA_CALL_MIN_RISK,
	TROPICA_CALL_LATTICE,
	TROPICA_CALL_MACHINE_READ,
	TROPICA_CALL_MACHINE_ARCS,
	TROPICA_CALL_MACHINE_OPERATE,
	TROPICA_CALL_MACHINE_WRITE,
	TROPICA_CALL_MACHINE_SIZES,
	TROPICA_CALL_MACHINE_COPY
};

/* Begins a call that may take long, so that the caller can look after other things, such as
 * signals. It returns the call's status; or after so many microseconds, below 0 for no bound, TROPICA_RUNNING
 * and a handle in *running, which is 0 otherwise. The arguments, and all that they point to, belong to the call until
 * tropica_wait has returned another status than TROPICA_RUNNING, which ends the handle. */
int32_t tropica_start(uint32_t call, void *args, int64_t microseconds, tropica_handle *running, tropica_error *e);
int32_t tropica_wait(tropica_handle running, int64_t microseconds, tropica_error *e);

#ifdef __cplusplus
}
#endif

#endif
