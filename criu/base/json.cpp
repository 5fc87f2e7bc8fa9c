// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/json.hpp"

#include <utility>

#include "criu/base/printable.hpp"

namespace criu {

std::string jsonString(std::string_view text) {
    std::string out = "\"";
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + '"';
}

void JsonWriter::newLine() {
    text_ += '\n';
    text_.append(2 * open_.size(), ' ');
}

JsonWriter& JsonWriter::raw(std::string_view key, std::string_view value) {
    if (!first_)
        text_ += ',';
    first_ = false;
    if (!open_.empty())
        newLine();
    if (!key.empty())
        text_.append(jsonString(key)).append(": ");
    text_ += value;
    return *this;
}

JsonWriter& JsonWriter::begin(std::string_view key, char bracket) {
    raw(key, std::string_view(&bracket, 1));
    open_ += bracket == '{' ? '}' : ']';
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::end() {
    const char bracket = open_.back();
    open_.pop_back();
    if (!first_)
        newLine();
    text_ += bracket;
    first_ = false;
    return *this;
}

std::string JsonWriter::take() {
    return std::exchange(text_, {}) + '\n';
}

}  // namespace criu
