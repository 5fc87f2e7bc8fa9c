// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/difference.hpp"

#include <iterator>

#include <fmt/format.h>

#include "criu/base/json.hpp"
#include "criu/base/printable.hpp"

namespace criu::engine {

Place Place::within(std::string_view part) const {
    Place place = *this;
    if (!place.object.empty() && !part.empty())
        place.object += ": ";
    place.object += part;
    return place;
}

std::string Differences::text() const {
    std::string out;
    const auto to = std::back_inserter(out);
    for (const Difference& each : found) {
        out += "Differs: ";
        if (!each.place.process.empty())
            fmt::format_to(to, "process {}: ", printable(each.place.process));
        if (!each.place.object.empty())
            fmt::format_to(to, "{}: ", printable(each.place.object));
        if (!each.field.empty())
            fmt::format_to(to, "{}: ", printable(each.field));
        fmt::format_to(to, "{} in the image, {} in the tree\n", printable(each.image), printable(each.tree));
    }
    for (const std::string& each : uncompared)
        fmt::format_to(to, "Not compared: {}\n", printable(each));
    if (found.empty() && uncompared.empty())
        out += "The tree equals the images.\n";
    return out;
}

std::string Differences::json() const {
    JsonWriter out;
    out.beginObject().add("command", "compare").add("equal", found.empty() && uncompared.empty());
    out.beginList("differences");
    for (const Difference& each : found) {
        out.beginObject().addOrNull("process", each.place.process).add("object", each.place.object);
        out.add("field", each.field).add("image", each.image).add("tree", each.tree);
        out.end();
    }
    out.end();
    out.beginList("uncompared");
    for (const std::string& each : uncompared)
        out.add("", each);
    return out.end().end().take();
}

}  // namespace criu::engine
