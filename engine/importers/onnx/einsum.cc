#include "engine/importers/onnx/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tondar::onnx_format {
namespace {

// A tensor with a letter per dim. The dims of an ellipsis have digits, '0' the first.
struct Term {
  Value* value = nullptr;
  std::string letters;

  bool Has(char letter) const { return letters.find(letter) != std::string::npos; }
  size_t At(char letter) const { return letters.find(letter); }
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool explicit_output = false;
};

Equation Parse(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  const size_t arrow = text.find("->");
  equation.explicit_output = arrow != std::string::npos;
  if (equation.explicit_output) equation.output = text.substr(arrow + 2);
  std::string inputs = text.substr(0, arrow);
  for (size_t begin = 0; begin <= inputs.size();) {
    const size_t comma = std::min(inputs.find(',', begin), inputs.size());
    equation.inputs.push_back(inputs.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return equation;
}

constexpr std::string_view kEllipsis = "...";

// Writes the ellipsis out as the last `count` of `total` digits.
std::string WithDigits(const std::string& letters, size_t count, size_t total) {
  const size_t at = letters.find(kEllipsis);
  if (at == std::string::npos) return letters;
  std::string digits;
  for (size_t i = total - count; i < total; ++i) digits += static_cast<char>('0' + i);
  return letters.substr(0, at) + digits + letters.substr(at + kEllipsis.size());
}

size_t LetterCount(const std::string& letters) {
  return letters.size() - (letters.find(kEllipsis) == std::string::npos ? 0 : kEllipsis.size());
}

// Letters that occur once, in order; after the ellipsis's digits.
std::string ImplicitOutput(const std::vector<std::string>& inputs, size_t ellipsis) {
  std::map<char, int> counts;
  for (const std::string& input : inputs) {
    for (const char letter : input) ++counts[letter];
  }
  std::string output;
  for (size_t i = 0; i < ellipsis; ++i) output += static_cast<char>('0' + i);
  for (const auto& [letter, count] : counts) {
    if (count == 1 && std::isdigit(static_cast<unsigned char>(letter)) == 0) output += letter;
  }
  return output;
}

// "ii" becomes "i".
Term WithoutRepeats(OpCall& call, Term term) {
  for (size_t i = 0; i < term.letters.size(); ++i) {
    const size_t second = term.letters.find(term.letters[i], i + 1);
    if (second == std::string::npos) continue;
    term.value = call.Op("diagonal", {term.value}, {{"dim1", Dim(static_cast<int64_t>(i))}, {"dim2", Dim(static_cast<int64_t>(second))}});
    const char letter = term.letters[i];
    term.letters.erase(second, 1);
    term.letters.erase(i, 1);
    term.letters += letter;  // the diagonal comes last
    i = static_cast<size_t>(-1);
  }
  return term;
}

// Sums over the letters that neither the result nor another operand has.
Term WithoutLoners(OpCall& call, Term term, const std::string& wanted) {
  Shape dims;
  std::string kept;
  for (size_t d = 0; d < term.letters.size(); ++d) {
    if (wanted.find(term.letters[d]) == std::string::npos) {
      dims.push_back(static_cast<int64_t>(d));
    } else {
      kept += term.letters[d];
    }
  }
  if (dims.empty() || term.value == nullptr) return term;
  return {call.Op("sum", {term.value}, {{"dim", dims}, {"dtype", term.value->dtype}}), kept};
}

Term Ordered(OpCall& call, const Term& term, const std::string& letters) {
  std::vector<int64_t> dims;
  for (const char letter : letters) dims.push_back(static_cast<int64_t>(term.At(letter)));
  return {call.Permute(term.value, std::move(dims)), letters};
}

Dim Product(const Term& term, const std::string& letters) {
  Dim product(1);
  for (const char letter : letters) product = product * OpCall::Extent(term.value, term.At(letter));
  return product;
}

// One product of matrices: letters of both that stay are batch dims, those of both that go are summed over.
Term Contract(OpCall& call, Term a, Term b, const std::string& wanted) {
  std::string batch, inner, left, right;
  for (const char letter : a.letters) {
    const bool stays = wanted.find(letter) != std::string::npos;
    (b.Has(letter) ? stays ? batch : inner : left) += letter;
  }
  for (const char letter : b.letters) {
    if (!a.Has(letter)) right += letter;
  }
  a = Ordered(call, a, batch + left + inner);
  b = Ordered(call, b, batch + inner + right);
  Shape a_shape, b_shape, shape;
  for (const char letter : batch) {  // extents of 1 repeat
    const Dim x = OpCall::Extent(a.value, a.At(letter)), y = OpCall::Extent(b.value, b.At(letter));
    a_shape.push_back(x), b_shape.push_back(y), shape.push_back(x.Is(1) ? y : x);
  }
  a_shape.insert(a_shape.end(), {Product(a, left), Product(a, inner)});
  b_shape.insert(b_shape.end(), {Product(b, inner), Product(b, right)});
  for (const char letter : left) shape.push_back(OpCall::Extent(a.value, a.At(letter)));
  for (const char letter : right) shape.push_back(OpCall::Extent(b.value, b.At(letter)));
  Value* product = call.Op("matmul", {call.Reshape(a.value, a_shape), call.Reshape(b.value, b_shape)});
  return {call.Reshape(product, std::move(shape)), batch + left + right};
}

}  // namespace

void Einsum(OpCall& call, const OpRow&) {
  Equation equation = Parse(call.String("equation", ""));
  if (equation.inputs.size() != call.inputs()) return call.Fail(InvalidArgument("an equation of {} operands for {}", equation.inputs.size(), call.inputs()));
  size_t ellipsis = 0;
  std::vector<size_t> counts;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const size_t rank = call.ShapeOf(i).size(), letters = LetterCount(equation.inputs[i]);
    const bool open = equation.inputs[i].find(kEllipsis) != std::string::npos;
    if (open ? letters > rank : letters != rank) return call.Fail(InvalidArgument("'{}' for an operand of rank {}", equation.inputs[i], rank));
    counts.push_back(rank - letters);
    ellipsis = std::max(ellipsis, counts.back());
  }
  for (size_t i = 0; i < call.inputs(); ++i) equation.inputs[i] = WithDigits(equation.inputs[i], counts[i], ellipsis);
  const std::string output = equation.explicit_output ? WithDigits(equation.output, ellipsis, ellipsis) : ImplicitOutput(equation.inputs, ellipsis);
  Term result;
  for (size_t i = 0; i < call.inputs() && call.ok(); ++i) {
    std::string later = output;
    for (size_t j = i + 1; j < call.inputs(); ++j) later += equation.inputs[j];
    Term term = WithoutRepeats(call, {call.In(i), equation.inputs[i]});
    term = WithoutLoners(call, term, later + result.letters);
    if (i > 0) result = WithoutLoners(call, result, later + term.letters);
    result = i == 0 ? term : Contract(call, result, term, later);
  }
  result = WithoutLoners(call, result, output);
  for (const char letter : output) {
    if (!result.Has(letter)) return call.Fail(InvalidArgument("the result has a letter '{}' that no operand has", letter));
  }
  if (call.ok()) call.Give(Ordered(call, result, output).value);
}

}  // namespace tondar::onnx_format
