// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace criu {

/// Returns the text as a JSON string. Bytes that aren't printable become \xNN, as in log lines.
[[nodiscard]] std::string jsonString(std::string_view text);

/// Writer of one JSON document with an indentation of two blanks. Inside of an object, the caller passes a key to each
/// function; inside of a list, the key is empty.
class JsonWriter {
public:
    JsonWriter& beginObject(std::string_view key = {}) { return begin(key, '{'); }
    JsonWriter& beginList(std::string_view key = {}) { return begin(key, '['); }
    /// Ends the current object or list.
    JsonWriter& end();

    JsonWriter& add(std::string_view key, std::string_view text) { return raw(key, jsonString(text)); }
    JsonWriter& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
    JsonWriter& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
    JsonWriter& add(std::string_view key, std::int64_t number) { return raw(key, std::to_string(number)); }
    JsonWriter& add(std::string_view key, std::uint64_t number) { return raw(key, std::to_string(number)); }
    /// Adds the text, or null if it is empty.
    JsonWriter& addOrNull(std::string_view key, std::string_view text) {
        return text.empty() ? raw(key, "null") : add(key, text);
    }

    /// Returns the document with a newline at its end. All objects and lists must have ended.
    [[nodiscard]] std::string take();

private:
    JsonWriter& begin(std::string_view key, char bracket);
    JsonWriter& raw(std::string_view key, std::string_view value);
    void newLine();

    std::string text_;
    std::string open_;   ///< closing brackets of the open objects and lists, the innermost last
    bool first_ = true;  ///< true if the current object or list is empty
};

}  // namespace criu
