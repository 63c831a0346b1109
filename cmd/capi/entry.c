#include "tropica.h"

#include <stdio.h>
#include <string.h>
#include <stdatomic.h>
#ifndef _WIN32
#include <pthread.h>
#endif

/* In main.go. */
extern int32_t tropicaCall(uint32_t number, void *args, uint64_t size, void *error);

/* After fork only the forking thread lives in the child, and the Go runtime, which needs the
 * others, would wait for them for ever. So a child's calls go no further than here. */
static atomic_int forked;

#ifndef _WIN32
static void in_child(void) { atomic_store(&forked, 1); }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }
#endif

static int32_t refuse(tropica_error *e, int32_t status, const char *text) {
	if (e != NULL) {
		e->status = status;
		e->element = -1;
		if (e->text != NULL && e->text_room > 0)
			snprintf(e->text, (size_t)e->text_room, "%s", text);
	}
	return status;
}

static int32_t enter(uint32_t number, void *args, uint64_t size, tropica_error *e) {
	if (e != NULL && e->size != sizeof *e)
		return TROPICA_OLD_ABI;
	if (atomic_load(&forked))
		return refuse(e, TROPICA_FORKED,
			"this process is a child of fork, where the library cannot run: start a process of `fst serve`");
	if (args == NULL)
		return refuse(e, TROPICA_INVALID, "the struct of arguments is null");
	return tropicaCall(number, args, size, e);
}

#define CALL(number, name, args) \
	int32_t tropica_##name(args *a, tropica_error *e) { return enter(number, a, sizeof *a, e); }

CALL(1, version, tropica_version_args)
CALL(2, free, tropica_handle_args)
CALL(3, cancel_new, tropica_handle_args)
CALL(4, cancel, tropica_handle_args)
CALL(5, loss, tropica_loss_args)
CALL(6, session, tropica_handle_args)
CALL(7, evaluate, tropica_evaluate_args)
CALL(8, sample, tropica_sample_args)
CALL(9, min_risk, tropica_min_risk_args)
CALL(10, lattice, tropica_lattice_args)
CALL(11, machine_read, tropica_machine_read_args)
CALL(12, machine_arcs, tropica_machine_arcs_args)
CALL(13, machine_operate, tropica_machine_operate_args)
CALL(14, machine_write, tropica_machine_write_args)
CALL(15, machine_sizes, tropica_machine_sizes_args)
CALL(16, machine_copy, tropica_machine_copy_args)
