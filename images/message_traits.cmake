# Writes OUTPUT (X.hpp) for INPUT (X.pb-c.h): includes for X and what it imports, and a MessageTraits specialisation
# for each message. The names come from the prototype "void core_entry__init (CoreEntry *message);".
file(READ ${INPUT} header)
get_filename_component(own ${INPUT} NAME)
set(text "// Generated from ${own}.\n#pragma once\n#include \"images/message_traits.hpp\"\n")

string(REGEX MATCHALL "#include \"[^\"]+\\.pb-c\\.h\"" imports "${header}")
foreach(import IN LISTS imports)
  string(REGEX REPLACE "#include \"(.*)\\.pb-c\\.h\"" "#include \"\\1.hpp\"\n" line ${import})
  string(APPEND text ${line})
endforeach()
string(APPEND text "#include \"${own}\"\n\nnamespace criu {\n")

string(REGEX MATCHALL "void +[a-z0-9_]+__init[ \n]*\\([A-Za-z0-9_]+ +\\*message\\)" prototypes "${header}")
foreach(prototype IN LISTS prototypes)
  string(REGEX REPLACE "void +([a-z0-9_]+)__init[ \n]*\\(([A-Za-z0-9_]+) .*" "\\1;\\2" names "${prototype}")
  list(GET names 0 function)
  list(GET names 1 type)
  string(APPEND text "template <>\nstruct MessageTraits<::${type}> {\n"
    "    static constexpr const ProtobufCMessageDescriptor* descriptor = &${function}__descriptor;\n};\n")
endforeach()
string(APPEND text "}  // namespace criu\n")
file(WRITE ${OUTPUT} "${text}")
