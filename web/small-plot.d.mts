/** Returns the source of uPlot without the parts that are not used. */
export function shrink(source: string): string;
