"""The one processor instruction that numba lacks and that counting in a large table lives on."""

from __future__ import annotations

from typing import no_type_check

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
@no_type_check
def prefetch(typing_context, array, row):
    """Ask for the cache line of `array[row, 0]` without waiting for it."""

    def generate(context, builder, signature, arguments):
        array_type, row_type = signature.args
        array = context.make_array(array_type)(context, builder, arguments[0])
        row = context.cast(builder, arguments[1], row_type, types.intp)
        zero = context.get_constant(types.intp, 0)
        line = cgutils.get_item_pointer(context, builder, array_type, array, [row, zero])
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer])
        function = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0i8")
        for_writing, keep, data = (ir.Constant(integer, value) for value in (1, 3, 1))
        builder.call(function, [builder.bitcast(line, byte), for_writing, keep, data])
        return context.get_dummy_value()

    return types.void(array, row), generate
