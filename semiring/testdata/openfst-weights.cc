// Makes openfst-weights.tsv with OpenFst 1.7.9:
//
//   g++ -std=c++17 -O1 openfst-weights.cc -lfst -o weights && ./weights > openfst-weights.tsv
//
// Columns: arc type, text of a, text of b, and then in hexadecimal the binary
// forms of a, b, a+b, a*b, (a*b)/a on the left, (b*a)/a on the right, the
// multiple of 1/4 nearest to a, the reverse of a, and the common divisor that
// determinization takes of a and b. A dash stands for what is not defined.
#include <fst/fstlib.h>

#include <cstdio>
#include <random>
#include <sstream>

using namespace fst;

std::mt19937 rng(20230515);
int Int(int n) { return std::uniform_int_distribution<>(0, n - 1)(rng); }
const float kInf = std::numeric_limits<float>::infinity();

template <class W> std::string Hex(const W &w) {
  std::ostringstream s;
  w.Write(s);
  std::string out;
  char two[3];
  for (unsigned char c : s.str()) { snprintf(two, 3, "%02x", c); out += two; }
  return out;
}
template <class W> std::string Text(const W &w) {
  std::ostringstream s;
  s.precision(9);
  s << w;
  return s.str();
}
double Number() { return (Int(65) - 16) / 8.0 + (Int(4) == 0 ? 0.1 : 0); }
template <class W> W Cost() {
  int k = Int(8);
  return k == 0 ? W(kInf) : k == 1 ? W(0) : W(Number());
}
template <class W> W Draw(W *) { return Cost<W>(); }
MinMaxWeight Draw(MinMaxWeight *) {
  int k = Int(8);
  return k == 0 ? MinMaxWeight(kInf) : k == 1 ? MinMaxWeight(-kInf) : MinMaxWeight(Number());
}
Real64Weight Draw(Real64Weight *) { return Real64Weight(Int(9) / 8.0); }
template <StringType S> StringWeight<int, S> String(int most) {
  StringWeight<int, S> w;
  for (int n = Int(most + 1); n > 0; --n) w.PushBack(Int(8) == 0 ? 70000 : 1 + Int(3));
  return w;
}
template <StringType S> StringWeight<int, S> Draw(StringWeight<int, S> *) {
  return Int(8) == 0 ? StringWeight<int, S>::Zero() : String<S>(S == STRING_RESTRICT ? 1 : 4);
}
template <class W, GallicType G> GallicWeight<int, W, G> Draw(GallicWeight<int, W, G> *) {
  using GW = GallicWeight<int, W, G>;
  W w = Cost<W>();
  return w == W::Zero() ? GW::Zero() : GW(String<GallicStringType(G)>(G == GALLIC_RESTRICT ? 1 : 3), w);
}
template <class W> GallicWeight<int, W, GALLIC> Draw(GallicWeight<int, W, GALLIC> *) {
  using GW = GallicWeight<int, W, GALLIC>;
  GW w = GW::Zero();
  for (int n = Int(4); n > 0; --n) w = Plus(w, GW(String<STRING_RESTRICT>(2), W(Number())));
  return w;
}
template <class A, class B> ProductWeight<A, B> Draw(ProductWeight<A, B> *) {
  return ProductWeight<A, B>(Draw((A *)0), Draw((B *)0));
}
template <class A, class B> LexicographicWeight<A, B> Draw(LexicographicWeight<A, B> *) {
  using W = LexicographicWeight<A, B>;
  W w(Draw((A *)0), Draw((B *)0));
  return w.Member() ? w : W::Zero();
}
template <class A, size_t n> PowerWeight<A, n> Draw(PowerWeight<A, n> *) {
  PowerWeight<A, n> w;
  for (size_t i = 0; i < n; ++i) w.SetValue(i, Draw((A *)0));
  return w;
}
template <class A, class B> ExpectationWeight<A, B> Draw(ExpectationWeight<A, B> *) {
  return ExpectationWeight<A, B>(Draw((A *)0), Draw((B *)0));
}

template <class W> struct NoDivisor { std::string operator()(const W &, const W &) const { return "-"; } };
template <class W, class D> struct Divisor {
  std::string operator()(const W &a, const W &b) const { D d; return Hex(d(a, b)); }
};

template <class W, class CD = NoDivisor<W>> void Emit(const std::string &arc, bool left, bool right, bool both = false) {
  for (int i = 0; i < 30; ++i) {
    const W a = Draw((W *)0), b = Draw((W *)0);
    const W sum = Plus(a, b);
    auto divide = [&](const W &c, DivideType t) { return Hex(Divide(c, a, both ? DIVIDE_ANY : t)); };
    bool div = a != W::Zero();
    printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", arc.c_str(), Text(a).c_str(), Text(b).c_str(),
           Hex(a).c_str(), Hex(b).c_str(), sum.Member() ? Hex(sum).c_str() : "-", Hex(Times(a, b)).c_str(),
           left && div ? divide(Times(a, b), DIVIDE_LEFT).c_str() : "-",
           right && div ? divide(Times(b, a), DIVIDE_RIGHT).c_str() : "-",
           Hex(a.Quantize(0.25)).c_str(), Hex(a.Reverse()).c_str(), CD()(a, b).c_str());
  }
}

int main() {
  FLAGS_fst_weight_parentheses = "()";
  FLAGS_fst_error_fatal = false;
  freopen("/dev/null", "w", stderr);
  using T = TropicalWeight;
  using T64 = TropicalWeightTpl<double>;
  Emit<T>(StdArc::Type(), true, true, true);
  Emit<T64>(ArcTpl<T64>::Type(), true, true, true);
  Emit<LogWeight>(LogArc::Type(), true, true, true);
  Emit<Log64Weight>(Log64Arc::Type(), true, true, true);
  Emit<Real64Weight>(Real64Arc::Type(), false, false, true);
  Emit<MinMaxWeight>(MinMaxArc::Type(), true, true, true);
  using SL = StringWeight<int, STRING_LEFT>;
  using SR = StringWeight<int, STRING_RIGHT>;
  using SX = StringWeight<int, STRING_RESTRICT>;
  Emit<SL, Divisor<SL, LabelCommonDivisor<int, STRING_LEFT>>>(StringArc<STRING_LEFT>::Type(), true, false);
  Emit<SR>(StringArc<STRING_RIGHT>::Type(), false, true);
  Emit<SX, Divisor<SX, LabelCommonDivisor<int, STRING_RESTRICT>>>(StringArc<STRING_RESTRICT>::Type(), true, true);
#define GALLIC_CASE(G) \
  Emit<GallicWeight<int, T, G>, Divisor<GallicWeight<int, T, G>, GallicCommonDivisor<int, T, G>>>
  GALLIC_CASE(GALLIC_LEFT)(GallicArc<StdArc, GALLIC_LEFT>::Type(), true, false);
  Emit<GallicWeight<int, T, GALLIC_RIGHT>>(GallicArc<StdArc, GALLIC_RIGHT>::Type(), false, true);
  GALLIC_CASE(GALLIC_RESTRICT)(GallicArc<StdArc, GALLIC_RESTRICT>::Type(), true, true);
  GALLIC_CASE(GALLIC_MIN)(GallicArc<StdArc, GALLIC_MIN>::Type(), true, true);
  GALLIC_CASE(GALLIC)(GallicArc<StdArc, GALLIC>::Type(), false, false);
  Emit<ProductWeight<T, MinMaxWeight>>(ProductArc<T, MinMaxWeight>::Type(), false, false, true);
  Emit<LexicographicWeight<T, T64>>(LexicographicArc<T, T64>::Type(), true, true, true);
  Emit<PowerWeight<T, 3>>(PowerArc<StdArc, 3>::Type(), false, false, true);
  Emit<ExpectationWeight<T, T>>(ExpectationArc<StdArc, T>::Type(), false, false, true);
}
