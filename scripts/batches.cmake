# Compiles sources in batches: a batch is a source that includes others. The compiler spends most of its time on headers
# and templates of libraries, and a batch processes them only once. With -DCRIU_UNITY=OFF every source is compiled
# alone, which is faster for repeated changes of one source.
option(CRIU_UNITY "Compile sources in batches, for a build of everything" ON)

# batch_sources(TARGET [SIZE n] [APART folder...]): batches the target's C++ sources. The sources of a layer form
# batches of at most n. Sources of an APART folder form batches of their own. Sources of a processor's folder (arch/)
# aren't batched with others, because test/aarch64/cross_check compiles the other batches for another processor. A
# source with options of its own, or with the property SKIP_UNITY_BUILD_INCLUSION, is compiled alone. Sources of a batch
# share one anonymous namespace, so the names in it must be unique within a layer.
function(batch_sources target)
  if(NOT CRIU_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SIZE" "APART" ${ARGN})
  if(NOT ARG_SIZE)
    set(ARG_SIZE 12)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(includes ${source} INCLUDE_DIRECTORIES)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(alone OR includes OR definitions OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    # Paths relative to the root make batches independent of the tree's location, so that a compiler cache recognizes
    # them.
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${path} in_tree)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} generated)
    if(generated OR NOT in_tree)
      continue()
    endif()
    # Rooms of a layer (criu/engine/dump/dump) share batches. A batch for each small room would have few sources.
    cmake_path(GET name PARENT_PATH folder)
    if(NOT folder IN_LIST ARG_APART)
      set(arch)
      if(folder MATCHES "/arch/")
        set(arch "/arch")
      endif()
      string(REGEX MATCH "^[^/]+/[^/]+" folder ${name})
      string(APPEND folder "${arch}")
    endif()
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND names_${folder} ${name})
    set(source_of_${name} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)

  foreach(folder IN LISTS folders)
    # As few batches as possible, all of about the same size.
    list(LENGTH names_${folder} count)
    math(EXPR batches "(${count} + ${ARG_SIZE} - 1) / ${ARG_SIZE}")
    foreach(batch RANGE 1 ${batches})
      math(EXPR first "(${batch} - 1) * ${count} / ${batches}")
      math(EXPR size "${batch} * ${count} / ${batches} - ${first}")
      list(SUBLIST names_${folder} ${first} ${size} names)
      if(size EQUAL 1)
        continue()
      endif()
      set(content)
      foreach(name IN LISTS names)
        string(APPEND content "#include \"${name}\"\n")
        set_source_files_properties(${source_of_${name}} PROPERTIES HEADER_FILE_ONLY ON)
      endforeach()
      set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_batches/${folder}_${batch}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
      target_sources(${target} PRIVATE ${file})
      # GCC treats the sources in a batch as headers, and warns about anonymous namespaces in their types. Less frequent
      # garbage collection costs a tenth more memory and saves a tenth of the time.
      set_source_files_properties(${file} PROPERTIES
        COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;--param=ggc-min-heapsize=524288>")
    endforeach()
  endforeach()
endfunction()
