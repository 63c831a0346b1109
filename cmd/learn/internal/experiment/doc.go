// Package experiment runs reproducible comparisons of training objectives. Each objective chooses
// its own constants on held-out examples, all are trained to the same stopping rule, and tests are
// paired.
//
// Contest does so for any sequences. Homologs is an experiment after section 6.6.2 of the thesis
// "Large-scale learning": sequences that are judged by their Smith-Waterman score.
//
// Table31Sets, Table41Sets and Table5Sets are the data sets of tables 3.1, 4.1, 5.1 and 5.2 of the
// same thesis, read from a folder. They have the trials of the recorded comparisons. Their comments
// describe the folder and the features. Small ones are in testdata/tables.
//
// Accuracy is table 3.1: boosters that choose their settings on inner folds.
//
// Almo is tables 5.1 and 5.2: models robust to every mixture of four losses, beside the
// even mixture and each loss alone. Tagging and Pronouncing do the same for sequence
// models and the losses of package losses, in regrets.
//
// Corrupted is the experiment of resilient learning. It measures test errors after training on
// corrupted data, and how well multipliers and other methods find corrupted examples.
//
// Sources reruns table 4.1: MULTIBOOST beside AdaBoost on data of several sources, at equal rounds
// and at equal terms. WriteTable41 prints it beside the thesis' numbers. Package learn/boost/multi
// has the figures.
//
// # Table 3.1: RGB beside XGBoost
//
// Accuracy runs the protocol of table 3.1, nested: five folds, twice; each booster chooses from a
// grid on inner folds of the training part. The grids are those of Boosters, as large as XGBoost's
// were (48 settings on five inner folds, 18 on two, 6 on one), T = 100. The rule of choice is the
// inner log-loss. It was fixed beforehand because the study of the default setting found it
// steadier. The choice by inner error, which was XGBoost's, is beside it. XGBoost's errors are of
// the same trials.
//
//	learn experiment table31 --data DIR --sets ... --boosters rgb
//
// Test error in %, mean (standard deviation) of 10 trials; differences with the plain and
// the corrected p of two-sided paired tests:
//
//	          RGB by loss   XGBoost       difference  p     corrected   RGB by error
//	sonar     14.19 (5.87)  15.40 (5.05)  -1.21       0.50  0.72        16.34 (5.44)
//	cancer     3.58 (1.51)   5.08 (1.28)  -1.50       0.01  0.13         3.29 (1.22)
//	diabetes  24.02 (3.06)  24.94 (2.84)  -0.91       0.33  0.60        23.83 (3.05)
//	ocr17      0.60 (0.34)   0.72 (0.51)  -0.12       0.32  0.59         0.57 (0.31)
//	ocr49      2.50 (0.91)   2.98 (0.78)  -0.48       0.06  0.27         2.70 (1.13)
//	higgs     28.63 (0.59)  28.80 (0.65)  -0.16       0.49  0.71        28.81 (0.57)
//	mnist17    0.30 (0.06)   0.38 (0.12)  -0.08       0.04  0.22         0.29 (0.06)
//	mnist49    1.23 (0.20)   1.27 (0.18)  -0.04       0.59  0.77         1.18 (0.19)
//
// RGB leads on all eight by its rule, and on six (not sonar and higgs) by XGBoost's. No lead is
// significant, except cancer and mnist17 by the plain test (and ocr49 when it is one-tailed, as in
// the thesis). Overlapping training parts make that test too optimistic.
//
// There are two limits to this result. The values of the grids were chosen by inner folds of trials
// 0 to 4 only (rgbGrids lists what was seen), but the test rows of one trial are training rows of
// others. The default setting that the grid starts from was found, by the study, on test errors of
// the same trials. Hence fresh divisions of the same rows were drawn, and XGBoost was run on them
// too. The setting and the grids were unchanged:
//
//	learn experiment table31 --data DIR --boosters rgb --fresh confirm
//
//	          RGB by loss   XGBoost       difference  p      corrected  RGB by error
//	sonar     15.87 (5.47)  17.33 (5.92)  -1.46       0.52   0.73       15.88 (6.15)
//	cancer     3.43 (1.29)   4.08 (1.43)  -0.64       0.11   0.37        3.22 (1.31)
//	diabetes  23.57 (2.06)  23.31 (1.84)  +0.26       0.52   0.73       23.38 (2.88)
//	ocr17      0.68 (0.41)   0.78 (0.42)  -0.10       0.34   0.61        0.65 (0.41)
//	ocr49      2.58 (0.39)   2.97 (0.71)  -0.40       0.12   0.38        2.65 (0.46)
//	higgs     28.73 (0.66)  28.92 (0.86)  -0.19       0.38   0.64       28.87 (0.68)
//	mnist17    0.24 (0.09)   0.36 (0.11)  -0.12       0.008  0.10        0.26 (0.09)
//	mnist49    1.25 (0.19)   1.23 (0.18)  +0.02       0.73   0.85        1.19 (0.12)
//
// Six of eight at or below XGBoost, none significantly above, one-tailed either.
//
// The draws of RGB's own (rows, columns, families) are one sample too. With --seed 2 on the same
// fresh divisions the differences by loss are: sonar -0.02, cancer -0.86, diabetes +0.13, ocr17
// -0.07, ocr49 -0.35, higgs -0.34, mnist17 -0.08, mnist49 +0.04. The signs are the same, but
// sonar's lead is gone. None is significantly above.
//
// All this is of a choice among up to 48 settings for each training part. The default
// preset itself, frozen before these runs and choosing nothing (--boosters rgb-default, with
// and without --fresh confirm), beside XGBoost, which chooses:
//
//	          given divisions                              fresh divisions
//	          rgb-default   difference  p     corrected    rgb-default   difference  p       corrected
//	sonar     14.67 (4.61)  -0.73       0.69  0.83         16.34 (3.71)  -0.99       0.62    0.79
//	cancer     3.72 (1.54)  -1.36       0.004 0.08          3.22 (1.13)  -0.86       0.02    0.16
//	diabetes  24.48 (3.01)  -0.46       0.45  0.68         25.01 (2.36)  +1.70       0.006   0.09
//	ocr17      0.57 (0.41)  -0.15       0.22  0.50          0.57 (0.46)  -0.20       0.17    0.44
//	ocr49      2.83 (0.72)  -0.15       0.30  0.57          2.73 (0.56)  -0.25       0.42    0.67
//	mnist17    0.42 (0.13)  +0.04       0.38  0.64          0.37 (0.08)  +0.02       0.64    0.80
//	mnist49    1.49 (0.23)  +0.22       0.004 0.07          1.62 (0.15)  +0.39       0.00007 0.005
//	higgs     28.97 (0.83)  +0.18       0.40  0.65         28.75 (0.76)  -0.17       0.42    0.67
//
// It is at or below XGBoost on five of eight in both cases. It is significantly above on mnist49,
// by the plain test in both and by the corrected one on fresh divisions, and on diabetes on fresh
// divisions by the plain one. The study that found the preset had seen the given divisions, where
// it does better on diabetes than it should. Why: T = 100 at the rate 0.1 is too short for MNIST
// and too long for diabetes. On fresh divisions, with only that setting changed, mnist49 has 1.26
// at the rate 0.3 and 1.15 in 300 rounds, and diabetes 25.33 and 26.37. (XGBoost took the rate 0.5
// in nine of the ten given trials.) So choose the rate where there is time: the rows of RGB above
// have what a choice brings, but not of the rate alone. The grids hold settings that the preset
// lacks: 0.9 of the rows, other least sums in a leaf, and on small tables stumps. The larger grids
// omit the preset's own values of these.
//
// testdata/bench/boost/trials.py of the source tree computes XGBoost's errors on other fresh
// divisions (the same grids and rules, for any seed); --peers reads them. One more was run so when
// all of the above was written down (--boosters rgb,rgb-default --fresh second), with nothing
// changed:
//
//	          RGB by loss   difference  p      corrected    rgb-default   difference  p      corrected  XGBoost
//	sonar     12.97 (3.18)  -1.93       0.18   0.46         13.95 (4.73)  -0.95       0.55   0.75       14.90 (4.78)
//	cancer     3.50 (1.36)  -0.72       0.02   0.18          3.72 (1.30)  -0.50       0.09   0.33        4.22 (1.37)
//	diabetes  23.70 (2.01)  -0.39       0.66   0.81         24.35 (2.40)  +0.26       0.76   0.87       24.09 (2.84)
//	ocr17      0.62 (0.56)  -0.10       0.40   0.65          0.57 (0.39)  -0.15       0.14   0.41        0.73 (0.36)
//	ocr49      2.40 (0.83)  -0.45       0.18   0.46          2.75 (0.90)  -0.10       0.67   0.82        2.85 (1.17)
//	mnist17    0.27 (0.14)  -0.12       0.007  0.10          0.42 (0.17)  +0.03       0.29   0.56        0.39 (0.19)
//	mnist49    1.27 (0.28)  -0.03       0.41   0.65          1.52 (0.31)  +0.23       0.002  0.04        1.30 (0.24)
//	higgs     28.89 (1.12)  +0.20       0.44   0.68         28.56 (0.72)  -0.12       0.40   0.65       28.69 (0.75)
//
// RGB by its rule is at or below XGBoost on seven of eight (by inner error on five: sonar is +0.96,
// higgs +0.11, diabetes +0.0004). The preset is on five, again significantly above on mnist49.
//
// The literal setting of the thesis (--boosters rgb-thesis --trials 0-4), with XGBoost's in
// brackets, has sonar 23.58 (17.80), cancer 4.72 (5.44), diabetes 21.87 (24.61), ocr17 1.35 (0.75),
// ocr49 4.65 (3.20), mnist17 1.27 (0.41), mnist49 2.53 (1.26), higgs 29.93 (29.05). On fresh
// divisions sonar 24.52 (14.46), cancer 4.00 (4.43), diabetes 23.05 (22.92), ocr17 1.45 (1.00),
// ocr49 4.65 (3.00). On images and on higgs it is above the thesis' own figures, on the small
// tables below.
//
// The control is plain gradient boosting by the same code with XGBoost's own grid
// (--boosters rgb,gb, with and without --fresh confirm), chosen by loss:
//
//	          given divisions       fresh divisions
//	          gb     RGB less gb    gb     RGB less gb
//	sonar     16.35  -2.16          17.31  -1.43
//	cancer     3.86  -0.29           3.72  -0.29
//	diabetes  25.07  -1.04          22.66  +0.91
//	ocr17      0.80  -0.20           0.75  -0.07
//	ocr49      3.00  -0.50           2.60  -0.02
//	higgs     28.76  -0.13          28.77  -0.04
//	mnist17    0.37  -0.07           0.34  -0.10
//	mnist49    1.23  +0.00           1.36  -0.11
//
// RGB is at or below its control on 15 of the 16. Plain tests call mnist17 (twice), mnist49 and
// diabetes on fresh divisions significant at 5 %, the corrected one none. Chosen by inner error, as
// XGBoost was, the control is almost XGBoost: it has equal mean errors on sonar, cancer and ocr17,
// and is within 0.32 of it on the others.
//
// RGB is behind XGBoost on diabetes (fresh, +0.26). There the choice by loss suits the control
// (-0.65 to XGBoost) and not RGB. On the given divisions of the same 768 rows it is the other way
// round by as much (RGB -0.91, control +0.13). Differences of a trial have a standard deviation of
// 1.2 there, and a trial's test part is 154 rows, so one row is 0.65. Neither difference is more
// than chance. On mnist49 +0.02 is half an image a trial.
//
// # The task of native, homolog and decoy sequences
//
// The thesis says that each example consists of native, homolog and decoy
// sequences of length 50, that the task is to predict a sequence whose
// Smith-Waterman score against the native one is as high as can be, and that the
// test scores were 42.73 with cross-entropy and 44.65 with the Smith-Waterman loss,
// with a standard deviation of 0.35 over ten random folds (after T. Joachims, T.
// Galor and R. Elber, "Learning to align sequences: a maximum-margin approach",
// 2006). It says nothing else, so the rest is chosen here:
//
//   - A native sequence is 50 residues, each drawn evenly from the 20 amino acids.
//   - A homolog (there are 4) is made from it residue by residue. Before each, a random residue is
//     inserted with probability 0.01, repeatedly. Then the residue is deleted with probability
//     0.01, or else substituted with probability 0.15. In 7 cases of 10 the substitute is of its
//     own group (AGPST DENQ HKR ILMV FWY, none for C), otherwise any. The end is cut or filled with
//     random residues to a length of 50.
//   - A decoy (there is 1) is the native sequence shuffled.
//   - A learner sees the homologs and the decoy as five columns, in this order, and labels each
//     position with a residue. It is a linear chain of order 1 over the residues of every column at
//     the position, the one before and the one after. It can learn which columns to trust,
//     substitutions, and shifts by one, but must guess where a column has lost its step. There it
//     can stay close to the native position by position (cross-entropy), or in alignment.
//   - The score of a prediction counts 1 for a match and -1/2 for a mismatch or a gap, which is
//     losses.SmithWaterman with the sign reversed. The native itself has 50. It is computed
//     exactly, without a band.
//
// Training uses losses.SmithWaterman within a band of 1 at length 50. Alignments then stay within
// one position of the diagonal, which gives an upper bound on the loss. The report states the cost
// of the band at the trained weights. It has the difference between log Z of the banded machine and
// the exact one, estimated or bounded by losses.Evaluator (see its WantError). It also counts the
// predictions on which the banded loss is exact.
//
// Beside the two objectives of the thesis there are two more. A softmax margin of the Hamming
// distance separates the effect of the margin from that of the alignment. The expected
// Smith-Waterman loss starts from the cross-entropy model.
//
// 150 examples train a model, 100 choose its l2 and γ, and 200 test it; ten seeds are ten draws of
// all of these. Objectives are compared by a paired t-test over all test sequences, and over seeds.
//
// Other settings were tried with two seeds each. With twice the insertions and deletions the order
// of the objectives is the same (33.6 cross-entropy, 34.5 and 35.6 the margins), but no chain of
// this kind does as well as the first homolog copied (36.2). With two homologs instead of four that
// is so even at half the insertions and deletions.
package experiment
