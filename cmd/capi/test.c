/* Tests of the C interface: values against an enumeration, gradients against differences,
 * mistakes, forks, cancelling. Built and run by test.sh. */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tropica.h"

static char text[512];
static tropica_error err = { .size = sizeof err, .text = text, .text_room = sizeof text };

static void ok(int32_t status) {
	if (status != TROPICA_OK) {
		fprintf(stderr, "status %d: %s\n", status, text);
		exit(1);
	}
}

static void check(int fine, const char *what) {
	if (!fine) {
		fprintf(stderr, "wrong: %s\n", what);
		exit(1);
	}
}

static tropica_handle loss_of(const char *spec) {
	tropica_loss_args a = { .size = sizeof a, .spec = spec, .spec_bytes = (int64_t)strlen(spec) };
	ok(tropica_loss(&a, &err));
	return a.loss;
}

static void free_handle(tropica_handle h) {
	tropica_handle_args a = { .size = sizeof a, .handle = h };
	ok(tropica_free(&a, &err));
}

enum { LENGTH = 3, LABELS = 3 };

static int least(int a, int b) { return a < b ? a : b; }

static int distance(const int *u, int n, const int32_t *r, int m) {
	int d[8];
	for (int j = 0; j <= m; j++)
		d[j] = j;
	for (int i = 0; i < n; i++) {
		int before = d[0]++;
		for (int j = 0; j < m; j++) {
			int here = d[j + 1];
			d[j + 1] = least(least(here + 1, d[j] + 1), before + (u[i] != r[j]));
			before = here;
		}
	}
	return d[m];
}

static double enumerated(const double *theta, const int32_t *ref, double gamma) {
	double sum = 0;
	for (int s = 0; s < 27; s++) {
		int u[LENGTH] = { s / 9, s / 3 % 3, s % 3 };
		double x = gamma * distance(u, LENGTH, ref, LENGTH);
		for (int t = 0; t < LENGTH; t++)
			x += theta[t * LABELS + u[t]];
		sum += exp(x);
	}
	return log(sum);
}

static double theta[LENGTH * LABELS] = { .3, -1, .5, 1.2, 0, -.7, .1, .2, -.4 };
static int32_t reference[LENGTH] = { 0, 2, 1 };
static int64_t offsets[2] = { 0, LENGTH };

static tropica_evaluate_args batch_of(tropica_handle loss, double *values, double *marginals) {
	tropica_evaluate_args a = { .size = sizeof a, .loss = loss, .gamma = .9, .batch = 1, .length = LENGTH, .window = LABELS,
		.alphabet = LABELS, .order = 1, .references = reference, .offsets = offsets, .theta = { .data = theta },
		.log_z = values, .marginals = { .data = marginals } };
	return a;
}

static void values_and_gradients(tropica_handle loss) {
	double value, marginals[LENGTH * LABELS];
	tropica_evaluate_args a = batch_of(loss, &value, marginals);
	ok(tropica_evaluate(&a, &err));
	check(fabs(value - enumerated(theta, reference, .9)) < 1e-12, "log z");
	for (int i = 0; i < LENGTH * LABELS; i++) {
		const double h = 1e-6;
		double was = theta[i];
		theta[i] = was + h;
		double up = enumerated(theta, reference, .9);
		theta[i] = was - h;
		double down = enumerated(theta, reference, .9);
		theta[i] = was;
		check(fabs(marginals[i] - (up - down) / (2 * h)) < 1e-8, "marginals");
	}
}

static void mistakes(tropica_handle loss) {
	double value;
	tropica_evaluate_args a = batch_of(loss, &value, NULL);
	a.size = 8;
	check(tropica_evaluate(&a, &err) == TROPICA_OLD_ABI, "another size");
	a = batch_of(12345, &value, NULL);
	check(tropica_evaluate(&a, &err) == TROPICA_BAD_HANDLE && strstr(text, "12345"), "a handle of nothing");
	a = batch_of(loss, &value, NULL);
	a.theta.data = NULL;
	check(tropica_evaluate(&a, &err) == TROPICA_INVALID, "no potentials");
	a = batch_of(loss, &value, NULL);
	a.alphabet = 2;
	check(tropica_evaluate(&a, &err) == TROPICA_INVALID, "another alphabet");
	int64_t wild[2] = { 0, -5 };
	a = batch_of(loss, &value, NULL);
	a.offsets = wild;
	check(tropica_evaluate(&a, &err) == TROPICA_INVALID && err.element == 0, "offsets");
	char few[8];
	tropica_error cut = { .size = sizeof cut, .text = few, .text_room = sizeof few };
	check(tropica_evaluate(&a, &cut) == TROPICA_INVALID && strlen(few) == 7, "an error is cut");
	check(tropica_evaluate(&a, NULL) == TROPICA_INVALID, "no error struct");
	check(tropica_evaluate(NULL, &err) == TROPICA_INVALID && strstr(text, "null"), "no arguments");
	tropica_loss_args l = { .size = sizeof l, .spec = "{", .spec_bytes = 1 };
	check(tropica_loss(&l, &err) == TROPICA_INVALID && strstr(text, "JSON"), "no JSON");
}

static void machines(void) {
	const char *words = "0 1 1 1 .5\n1 2 2 2\n0 2 3 3 2\n2\n";
	tropica_machine_read_args r = { .size = sizeof r, .data = words, .bytes = (int64_t)strlen(words), .text = 1 };
	ok(tropica_machine_read(&r, &err));
	tropica_machine_operate_args o = { .size = sizeof o, .name = "shortestpath", .name_bytes = 12, .a = r.machine };
	ok(tropica_machine_operate(&o, &err));
	tropica_machine_write_args w = { .size = sizeof w, .machine = o.machine, .text = 1 };
	ok(tropica_machine_write(&w, &err));
	char *out = calloc(1, (size_t)w.needed + 1);
	w.data = out;
	w.room = w.needed;
	ok(tropica_machine_write(&w, &err));
	check(strstr(out, "1\t1\t0.5") != NULL && strstr(out, "3\t3") == NULL, "the best path");
	free(out);
	o.name = "frobnicate";
	o.name_bytes = 10;
	check(tropica_machine_operate(&o, &err) == TROPICA_INVALID, "no operation");
	free_handle(o.machine);
	free_handle(r.machine);
}

static void *cancel_soon(void *handle) {
	usleep(200000);
	tropica_handle_args a = { .size = sizeof a, .handle = *(tropica_handle *)handle };
	tropica_cancel(&a, NULL);
	return NULL;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void cancelling(tropica_handle loss) {
	enum { N = 23, D = 10 };
	static double scores[N * D];
	int32_t ref[N];
	for (int t = 0; t < N; t++)
		ref[t] = (t * 7 + t / 3) % D;
	int64_t ends[2] = { 0, N };
	double value;
	tropica_handle_args stop = { .size = sizeof stop };
	ok(tropica_cancel_new(&stop, &err));
	tropica_evaluate_args a = { .size = sizeof a, .loss = loss, .cancel = stop.handle, .gamma = 1, .batch = 1, .length = N, .window = D,
		.alphabet = D, .order = 1, .references = ref, .offsets = ends, .theta = { .data = scores }, .log_z = &value };
	pthread_t t;
	pthread_create(&t, NULL, cancel_soon, &stop.handle);
	double begin = now();
	int32_t status = tropica_evaluate(&a, &err);
	double took = now() - begin;
	pthread_join(t, NULL);
	check(status == TROPICA_CANCELLED || status == TROPICA_OK && took < .25, "cancelled");
	check(took < 2, "soon");
	free_handle(stop.handle);
}

/* A call that goes on behind tropica_start has its results when tropica_wait says that it ended. */
static void waiting(tropica_handle loss) {
	double value, want;
	tropica_evaluate_args a = batch_of(loss, &want, NULL);
	ok(tropica_evaluate(&a, &err));
	tropica_handle running = 7;
	a = batch_of(loss, &value, NULL);
	int32_t status = tropica_start(TROPICA_CALL_EVALUATE, &a, 0, &running, &err);
	check((status == TROPICA_RUNNING) == (running != 0), "the handle of a call that goes on");
	if (status == TROPICA_RUNNING)
		status = tropica_wait(running, -1, &err);
	ok(status);
	check(value == want, "a call that was waited for");
	check(tropica_wait(running, -1, &err) == TROPICA_BAD_HANDLE && strstr(text, "waited"), "waiting twice");

	enum { N = 23, D = 10 };
	static double scores[N * D];
	int32_t ref[N];
	for (int t = 0; t < N; t++)
		ref[t] = (t * 7 + t / 3) % D;
	int64_t ends[2] = { 0, N };
	tropica_handle_args stop = { .size = sizeof stop };
	ok(tropica_cancel_new(&stop, &err));
	tropica_evaluate_args b = { .size = sizeof b, .loss = loss, .cancel = stop.handle, .gamma = 1, .batch = 1, .length = N, .window = D,
		.alphabet = D, .order = 1, .references = ref, .offsets = ends, .theta = { .data = scores }, .log_z = &value };
	status = tropica_start(TROPICA_CALL_EVALUATE, &b, 1000, &running, &err);
	check(status == TROPICA_RUNNING, "a machine of 23 symbols in a millisecond");
	check(tropica_wait(running, 1000, &err) == TROPICA_RUNNING, "two milliseconds");
	ok(tropica_cancel(&stop, &err));
	check(tropica_wait(running, -1, &err) == TROPICA_CANCELLED, "cancelled behind its back");
	free_handle(stop.handle);

	a = batch_of(loss, &value, NULL);
	a.size = 8;
	check(tropica_start(TROPICA_CALL_EVALUATE, &a, -1, &running, &err) == TROPICA_OLD_ABI && running == 0, "another size");
	a.size = UINT64_MAX;
	check(tropica_start(TROPICA_CALL_EVALUATE, &a, -1, &running, &err) == TROPICA_OLD_ABI, "no size");
	check(tropica_start(TROPICA_CALL_EVALUATE, NULL, -1, &running, &err) == TROPICA_INVALID, "no arguments");
	check(tropica_start(99, &b, -1, &running, &err) == TROPICA_OLD_ABI, "no such call");
}

static void forking(tropica_handle loss) {
	pid_t pid = fork();
	if (pid == 0) {
		double value;
		tropica_evaluate_args a = batch_of(loss, &value, NULL);
		alarm(5); /* a call that hangs ends the child, which is seen */
		tropica_handle running;
		int fine = tropica_evaluate(&a, &err) == TROPICA_FORKED && strstr(text, "fst serve") &&
			tropica_start(TROPICA_CALL_EVALUATE, &a, 0, &running, &err) == TROPICA_FORKED && tropica_wait(1, -1, &err) == TROPICA_FORKED;
		_exit(fine ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of fork");
}

int main(void) {
	tropica_version_args v = { .size = sizeof v };
	ok(tropica_version(&v, &err));
	check(v.abi == TROPICA_ABI_VERSION, "version");
	tropica_handle loss = loss_of("{\"kind\":\"edit\"}");
	values_and_gradients(loss);
	mistakes(loss);
	machines();
	cancelling(loss);
	waiting(loss);
	forking(loss);
	values_and_gradients(loss);
	free_handle(loss);
	puts("1 passed, 0 failed");
	return 0;
}
